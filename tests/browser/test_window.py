"""The window on a picture: dragging, keys, numbers, and its output.

The output is compared with the models' own sampling.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from areaviz.attention.stn import transform
from areaviz.data.scenes import make_scene
from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/window_app.py"
SIDE = 20
VIEW = 1.3


@pytest.fixture
def window(app: App, page: Page) -> Locator:
    page.goto(app(SCRIPT))
    return shown(page)


def shown(page: Page) -> Locator:
    window = page.locator(".window[data-theta]")
    expect(window).to_be_visible()
    settled(page)
    return window


def theta(window: Locator) -> list[float]:
    return [float(number) for number in (window.get_attribute("data-theta") or "").split()]


def output(window: Locator) -> np.ndarray:
    """Return the picture on the right: [20, 20, 3]."""
    read = "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    values = window.locator(".output canvas").evaluate(read)
    return np.array(values, dtype=float).reshape(SIDE, SIDE, 4)[:, :, :3]


def expected(numbers: list[float]) -> np.ndarray:
    """Return the scene as the models' spatial transformer reads it: [20, 20, 3]."""
    pixels = torch.tensor(make_scene("samples", 9).pixels(40)).double().permute(2, 0, 1)[None]
    theta_123 = torch.tensor(numbers, dtype=torch.float64).view(1, 2, 3)
    return transform(pixels, theta_123, SIDE)[0].permute(1, 2, 0).numpy()


def drag(window: Locator, name: str, across: float, down: float) -> None:
    """Drag a handle by fractions of half the picture's width and height."""
    view, box = (
        window.locator(where).bounding_box()
        for where in (".input .view", f'.handle[title="{name}"]')
    )
    assert view and box
    unit = view["width"] / 2 / VIEW
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    window.page.mouse.move(x, y)
    window.page.mouse.down()
    window.page.mouse.move(x + across * unit, y + down * unit, steps=3)
    window.page.mouse.up()


def test_dragging_changes_theta_and_the_output_without_the_server(app: App, page: Page) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(app(SCRIPT))
    window = shown(page)
    np.testing.assert_allclose(output(window), expected([0.5, 0, 0, 0, 0.5, 0]), atol=1)
    page.wait_for_timeout(500)
    before = len(sent)
    drag(window, "Centre", 0.3, -0.2)
    expect(window).not_to_have_attribute("data-theta", "0.5 0 0 0 0.5 0")
    page.wait_for_timeout(200)
    np.testing.assert_allclose(theta(window), [0.5, 0, 0.3, 0, 0.5, -0.2], atol=0.02)
    drag(window, "Right edge", 0.0, 0.2)
    drag(window, "Bottom right corner", 0.1, 0.1)
    page.wait_for_timeout(200)
    assert theta(window)[3] > 0.15
    np.testing.assert_allclose(output(window), expected(theta(window)), atol=1)
    written = [float(field.input_value()) for field in window.locator(".theta input").all()]
    assert written == theta(window)
    assert len(sent) == before


def test_keys_buttons_and_numbers_move_the_window(window: Locator) -> None:
    page = window.page
    window.get_by_role("button", name="Centre of the window").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    expect(window).to_have_attribute("data-theta", "0.5 0 0.05 0 0.5 -0.01")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(window).to_have_attribute("data-theta", "0.55 0 0.05 0 0.5 -0.01")
    expect(window.locator(".live")).to_contain_text("0.55, 0.00, 0.05")
    window.get_by_label("Theta, row 1, column 2").fill("0.2")
    expect(window).to_have_attribute("data-theta", "0.55 0.2 0.05 0 0.5 -0.01")
    np.testing.assert_allclose(output(window), expected([0.55, 0.2, 0.05, 0, 0.5, -0.01]), atol=1)
    for button, after in (
        ("Identity", "1 0 0 0 1 0"),
        ("Zoom 2×", "0.5 0 0 0 0.5 0"),
        ("Flip", "-0.5 0 0 0 0.5 0"),
        ("Rotate 30°", "-0.433 -0.25 0 -0.25 0.433 0"),
    ):
        window.get_by_role("button", name=button).click()
        expect(window).to_have_attribute("data-theta", after)


def test_keys_that_come_faster_than_pictures_are_drawn_all_count(window: Locator) -> None:
    centre = window.get_by_role("button", name="Centre of the window")
    press = (
        "b => { for (let i = 0; i < 3; i += 1) b.dispatchEvent(new KeyboardEvent('keydown', { key:"
        " 'ArrowRight' })); }"
    )
    centre.evaluate(press)
    expect(window).to_have_attribute("data-theta", "0.5 0 0.15 0 0.5 0")


def test_pointing_at_the_output_names_the_four_pixels(window: Locator) -> None:
    for row in (1, 2):  # half a pixel: each dot is in the middle of four
        window.get_by_label(f"Theta, row {row}, column 3").fill("0.025")
    box = window.locator(".output canvas").bounding_box()
    assert box
    cell = box["width"] / SIDE
    window.page.mouse.move(box["x"] + 2.5 * cell, box["y"] + 4.5 * cell)
    facts = window.locator(".facts")
    expect(facts).to_contain_text("row 5, column 3")
    expect(facts).to_contain_text("x −0.35, y −0.25")  # (2.5, 4.5) / 10 - 1, halved and shifted
    expect(facts).to_contain_text("rows 15, 16; columns 13, 14")
    weights = [float(text) for text in window.locator(".loupe span").all_text_contents()]
    assert weights == [0.25] * 4
    window.locator(".output canvas").focus()
    window.page.keyboard.press("ArrowDown")
    expect(facts).to_contain_text("row 6, column 3")
    for index in (0, 4):
        window.get_by_label(f"Theta, row {1 + index // 3}, column {1 + index % 3}").fill("2")
    expect(facts).to_contain_text("outside the picture: 0")
    assert output(window)[0].max() == 0


@pytest.mark.parametrize("width", [1280, 800, 360])
def test_it_fits_and_keeps_its_size(app: App, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(app(SCRIPT))
    window = shown(page)
    assert window.evaluate("root => root.scrollWidth <= root.clientWidth")
    height = window.evaluate("root => root.offsetHeight")
    window.get_by_role("button", name="Digit").click()
    window.get_by_label("Theta, row 1, column 3").fill("-1.2")
    page.wait_for_timeout(200)
    assert window.evaluate("root => root.offsetHeight") == height

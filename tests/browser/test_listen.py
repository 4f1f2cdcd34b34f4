"""The sound in a real browser: pointing, clicking, playing, and the keyboard."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/listen_app.py"


@pytest.fixture
def sound(app: App, page: Page) -> Locator:
    page.goto(app(SCRIPT))
    shown = page.locator(".hearing[data-ready]")
    expect(shown).to_have_count(1)
    settled(page)
    return shown


def test_rows_are_next_to_their_labels(sound: Locator) -> None:
    picture = sound.locator(".alignment").bounding_box()
    buttons = sound.locator(".rows button")
    assert picture is not None and buttons.count() == 4
    for row in range(4):
        box = buttons.nth(row).bounding_box()
        assert box is not None
        middle = picture["y"] + (row + 0.5) * picture["height"] / 4
        assert abs(box["y"] + box["height"] / 2 - middle) < 2


@pytest.mark.long
def test_digit_is_highlighted_and_locked(sound: Locator) -> None:
    say = sound.locator(".say")
    lit = sound.locator("[data-lit]")
    expect(lit).to_have_count(1)
    expect(say).to_contain_text(f"To write “{lit.text_content()}”, the model listened most to")
    sound.get_by_role("button", name="1", exact=True).hover()
    expect(say).to_contain_text("To write “1”, the model listened most to")
    sound.get_by_role("button", name="4", exact=True).click()
    expect(sound.page.get_by_text("locked: [2]")).to_be_visible()
    expect(sound.get_by_role("button", name="4", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    # The sound is at the place where the digit was heard.
    expect(sound.locator(".place")).not_to_contain_text("0.00 of")
    sound.get_by_role("button", name="4", exact=True).click()
    expect(sound.page.get_by_text("locked: []")).to_be_visible()


@pytest.mark.long
def test_moment_shows_its_attention(sound: Locator) -> None:
    sound.locator(".alignment").hover(position={"x": 5, "y": 5})
    expect(sound.locator(".say")).to_contain_text("“3”, the model listened to 0.0")


@pytest.mark.long
def test_unheard_spoken_digit_is_marked(app: App, sound: Locator) -> None:
    expect(sound.locator(".missed")).to_have_count(0)
    sound.page.goto(f"{app(SCRIPT)}/?missed=1")
    missed = sound.locator(".missed")
    expect(missed).to_have_count(1)
    expect(sound.locator(".hint")).to_contain_text("listened to no moment of a dashed one")
    box, below = missed.bounding_box(), sound.locator(".sound").bounding_box()
    assert box is not None and below is not None
    assert abs(box["y"] - below["y"]) < 2 and abs(box["height"] - below["height"]) < 2


@pytest.mark.long
def test_player_plays_and_moves_its_line(sound: Locator) -> None:
    sound.get_by_role("button", name="Play").click()
    expect(sound.locator(".place")).to_contain_text("2.00 of 2.00 s")
    expect(sound.get_by_role("button", name="Play")).to_be_visible()
    left = sound.locator(".cursor").evaluate("line => parseFloat(line.style.left)")
    assert left > 90


@pytest.mark.long
def test_player_works_by_keyboard_alone(sound: Locator) -> None:
    scrubber = sound.get_by_role("slider", name="Second")
    scrubber.focus()
    scrubber.press("End")
    expect(sound.locator(".place")).to_contain_text("2.00 of")
    digit = sound.get_by_role("button", name="3", exact=True)
    digit.focus()
    digit.press("Enter")
    expect(sound.page.get_by_text("locked: [0]")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_player_is_accessible(sound: Locator, scheme: Literal["light", "dark"]) -> None:
    sound.page.emulate_media(color_scheme=scheme)
    settled(sound.page)
    found = Axe().run(sound.page).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []

"""At 1280 x 900, the first screen shows a page's input and picture, even after a run."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, settled
from tests.sampled import sampled

FOLD = 900
FIRST_PICTURE = {
    "translate": ".ribbon[data-ready] .sides",
    "read": ".ribbon[data-ready] .sides",
    "reason": ".hops[data-ready] .board",
    "caption": ".grid[data-ready] .picture:visible",
    "translate_picture": ".st-key-sights img",
    "four_ways": ".st-key-ways img",
}
INPUT = {
    "translate": ".st-key-translate_input",
    "read": ".st-key-read_input",
    "reason": ".st-key-reason_input",
    "caption": ".thumbnails",
    "translate_picture": ".st-key-translate_picture_input",
    "four_ways": ".thumbnails",
}


def edges(part: Locator) -> tuple[float, float]:
    """Return the top and the bottom of a part of the page, in pixels from the top of the page."""
    box = part.bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"]


def check(page: Page, path: str) -> None:
    """Check that the picture is below the input and ends on the first screen."""
    picture, given = page.locator(FIRST_PICTURE[path]).first, page.locator(INPUT[path]).first
    expect(picture).to_be_visible()
    settled(page)
    expect(given).to_be_in_viewport()
    top, bottom = edges(picture)
    assert edges(given)[1] <= top and bottom <= FOLD


@pytest.mark.parametrize("path", sampled(FIRST_PICTURE, "reason"))
def test_page_opens_with_its_answer(app: App, page: Page, path: str) -> None:
    page.goto(f"{app('app.py')}/{path}")
    check(page, path)


@pytest.mark.long
@pytest.mark.parametrize("path", ["translate", "caption", "translate_picture", "four_ways"])
def test_input_stays_in_sight_after_a_run(app: App, page: Page, path: str) -> None:
    page.goto(f"{app('app.py')}/{path}")
    check(page, path)
    if path == "translate":
        page.get_by_label("English text").fill("A man plays the guitar.")
        page.get_by_role("button", name="Translate", exact=True).click()
        expect(page.locator("#query-1")).to_have_text("Mann")
        expect(page.get_by_label("English text")).to_have_value("A man plays the guitar.")
    else:
        chosen = page.locator(".thumbnails button").nth(3)
        chosen.click()
        expect(chosen).to_have_attribute("aria-pressed", "true")
    check(page, path)

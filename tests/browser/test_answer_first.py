"""The answer comes first: at 1280 x 900 the output and the first picture are on the first screen,
when a page is opened and after a run.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, open_form, settled

FOLD = 900
FIRST_PICTURE = {
    "translate": ".ribbon[data-ready] .texts, .ribbon[data-ready]",
    "caption": ".grid[data-ready] .picture:visible",
    "translate_picture": ".st-key-sights img",
    "four_ways": ".st-key-ways img",
}


def bottom(page: Page, selector: str) -> float:
    """Where the first element of a selector ends, in pixels from the top of the page."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def check(page: Page, path: str) -> None:
    picture = FIRST_PICTURE[path]
    expect(page.locator(picture).first).to_be_visible()
    settled(page)
    assert bottom(page, picture) <= FOLD
    if path != "four_ways":
        assert bottom(page, '[class*="st-key-translation"] [data-testid="stText"]') <= FOLD


@pytest.mark.parametrize("path", FIRST_PICTURE)
def test_a_page_opens_with_its_answer(app: App, page: Page, path: str) -> None:
    page.goto(f"{app('app.py')}/{path}")
    check(page, path)


@pytest.mark.parametrize("path", FIRST_PICTURE)
def test_after_a_run_the_form_is_folded(app: App, page: Page, path: str) -> None:
    page.goto(f"{app('app.py')}/{path}")
    check(page, path)
    form = page.locator(f".st-key-{path}_form")
    open_form(page, path)
    if path == "translate":
        page.get_by_label("English text").fill("A man plays the guitar.")
        page.get_by_role("button", name="Translate", exact=True).click()
        expect(page.locator(".st-key-translate_asked")).to_contain_text("A man plays the guitar.")
    else:
        form.locator(".thumbnails button").nth(3).click()
    expect(form.locator("details").first).not_to_have_attribute("open", "")
    check(page, path)

"""The analysis that Analyse opens with: it is short, fits its window, and its bars open."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settled

MOST_WORDS = 250


def opened(app: App, page: Page) -> Page:
    page.goto(f"{app('app.py')}/analyse")
    expect(page.locator(".js-plotly-plot .bars .point")).not_to_have_count(0)
    settled(page)
    return page


@pytest.mark.long
def test_bar_click_opens_its_sentence(app: App, page: Page) -> None:
    opened(app, page)
    expect(page).to_have_url(re.compile("example="))
    first = page.url
    expect(page.get_by_text("1 of 24", exact=True)).to_be_visible()
    box = page.locator(".js-plotly-plot .bars .point").nth(3).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_text("4 of 24", exact=True)).to_be_visible()
    settled(page)
    assert page.url != first
    page.go_back()
    expect(page.get_by_text("1 of 24", exact=True)).to_be_visible()


@pytest.mark.long
def test_form_opens_and_back_returns(app: App, page: Page) -> None:
    opened(app, page)
    page.get_by_role("button", name="New analysis").click()
    expect(page.get_by_role("button", name="Run 24 examples")).to_be_visible()
    settled(page)
    assert "new=1" in page.url
    page.go_back()
    expect(page.get_by_role("button", name="New analysis")).to_be_visible()


def test_tabs_open_in_place_and_a_row_opens_its_sentence(app: App, page: Page) -> None:
    opened(app, page)
    page.get_by_role("radio", name="All 24 rows").click()
    rows = page.locator(".st-key-tab_part tbody tr")
    expect(rows).to_have_count(24)
    settled(page)
    assert "part=rows" in page.url
    rows.nth(2).click()
    expect(page.get_by_text("3 of 24", exact=True)).to_be_visible()
    for name, said in (("By length", "Sort by"), ("Words and measures", "Wins are examples")):
        page.get_by_role("radio", name=name).click()
        expect(page.locator(".st-key-tab_part").get_by_text(said).first).to_be_visible()
        settled(page)
    page.reload()
    expect(page.locator(".st-key-tab_part").get_by_text("Wins are examples")).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
def test_opening_is_short_and_accessible(app: App, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 860})
    opened(app, page)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    text = page.locator('[data-testid="stApp"]').inner_text()
    assert len(text.split()) <= MOST_WORDS
    assert len(re.findall("Without attention", text)) == 1
    if width == 1280:
        expect(page.get_by_role("radio", name="All 24 rows")).to_be_in_viewport()
    # In narrow windows, Streamlit's own menu has lists that axe refuses.
    found = Axe().run(page, context="[data-testid=stMain]").response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []

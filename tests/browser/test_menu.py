"""The head of every page in a real browser: the logo, and the menu of a narrow window."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settled

FINGER = 32
"""The smallest height of a touch target in px."""


def test_menu_of_narrow_page_has_word_and_large_links(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 860})
    page.goto(app("app.py"))
    settled(page)
    menu = page.get_by_test_id("stExpandSidebarButton")
    assert menu.evaluate("one => getComputedStyle(one, '::after').content") == '"Menu"'
    box = menu.bounding_box()
    assert box is not None and box["height"] >= FINGER and box["x"] + box["width"] <= 390
    menu.click()
    link = page.get_by_test_id("stSidebarNavLink").filter(has_text="Listen")
    expect(link).to_be_visible()
    links = page.get_by_test_id("stSidebarNavLink").all()
    assert min(one.evaluate("one => one.offsetHeight") for one in links) >= FINGER


@pytest.mark.long
def test_header_shows_the_logo(app: App, page: Page) -> None:
    page.goto(app("app.py"))
    logo = page.get_by_test_id("stHeaderLogo")
    expect(logo).to_be_visible()
    assert logo.evaluate("one => one.complete && one.naturalWidth > 0")

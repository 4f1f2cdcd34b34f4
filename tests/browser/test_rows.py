"""The table of rows in a real browser: clicks open rows, heads sort, and the tick follows."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, settled


@pytest.fixture
def table(app: App, page: Page) -> Locator:
    page.set_viewport_size({"width": 1000, "height": 700})
    page.goto(app("tests/browser/rows_app.py"))
    shown = page.locator(".rows[data-ready]")
    expect(shown).to_have_count(1)
    settled(page)
    return shown


def ticked(table: Locator) -> Locator:
    return table.locator("tr[aria-current]")


def test_row_click_opens_and_scrolls_to_example(table: Locator) -> None:
    expect(table.locator("tbody tr").nth(3)).to_contain_text("<b>3</b>")
    table.locator("tbody tr").nth(3).locator("td").last.click()
    heading = table.page.get_by_role("heading", name="Opened 3")
    expect(heading).to_be_in_viewport()
    expect(ticked(table)).to_have_attribute("data-id", "3")


@pytest.mark.long
def test_header_click_sorts_and_next_follows_shown_order(table: Locator) -> None:
    page = table.page
    table.get_by_role("button", name="Number").click()
    expect(table.locator("tbody tr").first).to_have_attribute("data-id", "39")
    expect(table.locator("th").last).to_have_attribute("aria-sort", "descending")
    table.locator("tbody tr").first.click()
    expect(page.get_by_role("heading", name="Opened 39")).to_be_visible()
    expect(ticked(table)).to_have_attribute("data-id", "39")


@pytest.mark.long
def test_rows_are_reached_by_keyboard_and_the_tick_stays_in_view(table: Locator) -> None:
    page = table.page
    first = table.get_by_role("button", name="<b>0</b>", exact=True)
    first.focus()
    first.press("Enter")
    expect(page.get_by_role("heading", name="Opened 0")).to_be_in_viewport()
    for number in range(1, 15):
        page.get_by_role("button", name="Next").click()
        expect(ticked(table)).to_have_attribute("data-id", str(number))
    inside = table.evaluate(
        """(root) => {
          const row = root.querySelector('tr[aria-current]').getBoundingClientRect();
          const box = root.getBoundingClientRect();
          return row.top >= box.top && row.bottom <= box.bottom + 1;
        }"""
    )
    assert inside


@pytest.mark.long
def test_table_is_accessible(table: Locator) -> None:
    table.locator("tbody tr").first.click()
    expect(ticked(table)).to_have_count(1)
    settled(table.page)
    found = Axe().run(table.page, context=".st-key-table").response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []

"""The menu "More" of the ribbon and the image grid."""

from __future__ import annotations

from playwright.sync_api import Locator


def open_more(view: Locator) -> Locator:
    """Open the menu of a view and return it."""
    menu = view.locator("details.more")
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    return menu


def close_more(view: Locator) -> None:
    """Close the menu of a view, which may cover what a test points at."""
    menu = view.locator("details.more")
    if menu.get_attribute("open") is not None:
        menu.locator("summary").click()


def choose_more(view: Locator, name: str) -> None:
    """Press a button of the menu."""
    open_more(view).get_by_role("button", name=name, exact=True).click()
    close_more(view)


def fill_more(view: Locator, selector: str, value: str) -> None:
    """Set a slider of the menu."""
    open_more(view).locator(selector).fill(value)
    close_more(view)

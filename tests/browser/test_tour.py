"""The guided tour in a real browser: it advances by itself, by links, and with Back."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from areaviz.learn.tour import build_addresses, build_area_step, build_head_step, build_opening_step
from areaviz.samples.paths import HERO
from areaviz.trace import file
from tests.browser.conftest import App, settled

ADDRESSES = build_addresses(file.load(HERO))


def opened(app: App, page: Page, number: int) -> Locator:
    """Open a step by its address, and return the sentence of the bar."""
    page.goto(f"{app('app.py')}/{ADDRESSES[number - 1].removeprefix('./')}")
    said = page.locator(".tour .says")
    expect(said).not_to_be_empty()
    settled(page)
    return said


def plain(says: str) -> str:
    return says.replace("**", "")


def test_completed_task_continues_and_back_returns(app: App, page: Page) -> None:
    trace = file.load(HERO)
    said = opened(app, page, 1)
    expect(said).to_contain_text(plain(build_opening_step(trace).says))
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    page.locator(".ribbon .opener").click()
    ring, played = page.locator(".tour .ring"), page.locator(".ribbon .play .go")
    expect(ring).to_be_visible()
    while "again" not in (played.text_content() or ""):
        played.click()
    expect(said).to_contain_text(plain(build_area_step(trace).says))
    expect(page).to_have_url(re.compile(r"/translate\?.*tour=2"))
    settled(page)
    other = page.get_by_role("option", name=build_area_step(trace).ends.strip("“”"), exact=True)
    other.hover()
    expect(said).to_contain_text(plain(build_head_step(trace).says))
    settled(page)
    page.go_back()
    expect(said).to_contain_text(plain(build_area_step(trace).says))
    settled(page)
    page.go_back()
    expect(said).to_contain_text(plain(build_opening_step(trace).says))


@pytest.mark.long
def test_frame_marks_the_target_and_escape_ends(app: App, page: Page) -> None:
    opened(app, page, 3)
    legend = page.locator(".ribbon[data-ready] .legend")
    expect(legend).to_be_visible()
    expect(page.locator(".tour .ring")).to_be_visible()
    page.wait_for_timeout(500)
    ring, inner = page.locator(".tour .ring").bounding_box(), legend.bounding_box()
    assert ring is not None and inner is not None
    assert ring["x"] < inner["x"] and ring["y"] < inner["y"]
    assert ring["x"] + ring["width"] > inner["x"] + inner["width"]
    assert ring["y"] + ring["height"] > inner["y"] + inner["height"]
    page.mouse.move(2, 2)
    # The first press releases the word that the address pins.
    page.locator(".ribbon").press("Escape")
    settled(page)
    page.locator("body").press("Escape")
    expect(page.locator(".tour")).to_have_count(0)
    assert "tour" not in page.url


@pytest.mark.long
def test_fact_is_removed_and_end_offers_next_pages(app: App, page: Page) -> None:
    said = opened(app, page, 5)
    page.locator(".tour .act").click()
    expect(said).to_contain_text("So it")
    settled(page)
    page.get_by_role("link", name="Next, 5 of 5").click()
    expect(said).to_have_text("You have seen spans, heads, rectangles and a test.")
    settled(page)
    page.get_by_role("link", name="Compare two translators").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Analyse a set")
    expect(page.locator(".tour")).to_have_count(0)


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("number", [1, 4])
def test_bar_is_in_view_and_accessible(app: App, page: Page, width: int, number: int) -> None:
    page.set_viewport_size({"width": width, "height": 860})
    opened(app, page, number)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    bar = page.locator(".tour .bar").bounding_box()
    assert bar is not None and round(bar["y"] + bar["height"]) == 860
    assert (bar["x"], bar["width"]) == (0, width) and bar["height"] <= 190
    for link in page.locator(".tour a").all():
        box = link.bounding_box()
        assert box is not None and box["height"] >= 32 and box["width"] >= 32
    found = Axe().run(page, context=".st-key-tour").response["violations"]
    assert [rule["id"] for rule in found] == []


@pytest.mark.long
def test_tour_link_is_right_of_the_navigation(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/models")
    link = page.get_by_role("link", name="90-second tour", exact=True)
    expect(link).to_be_in_viewport()
    box = link.bounding_box()
    assert box is not None and box["y"] < 52 and box["x"] + box["width"] > 1280 - 60
    settled(page)
    link.click()
    expect(page.locator(".tour .says")).to_contain_text("A translator writes German")

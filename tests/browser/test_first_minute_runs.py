"""What a new user does first: open a page, choose a sample, run it, follow a link of the tour."""

from __future__ import annotations

import statistics

import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.learn.tour import build_addresses
from areaviz.samples.paths import HERO
from areaviz.trace import file
from tests.browser.conftest import App, settled
from tests.browser.more import choose_more
from tests.browser.processor import PageThread, app_seconds

FLAGSHIP = "A small dog runs across the wet grass."
WIDE_ENOUGH = 0.85
"""The share of its card that the flagship sentence fills."""
MOST_SECONDS, TIMES = 1.5, 5
RIBBON = ".st-key-card .ribbon[data-ready]"


@pytest.mark.long
def test_translate_highlights_a_word_soon_after_the_click(app: App, page: Page) -> None:
    """Check how much the app and the page compute until then, whatever else the machine does."""
    thread, seconds = PageThread(page), []
    for _ in range(TIMES):
        page.goto(app("app.py"))
        expect(page.locator(".ribbon [data-lit]")).to_be_visible()
        settled(page)
        page.get_by_role("button", name="Explore").click()
        link = page.get_by_role("menuitem", name="Translate", exact=True)
        link.wait_for()
        before = thread.seconds() + app_seconds(app("app.py"))
        link.click()
        page.locator(f"{RIBBON} [data-lit]").wait_for()
        seconds.append(thread.seconds() + app_seconds(app("app.py")) - before)
    assert statistics.median(seconds) < MOST_SECONDS, seconds


def test_flagship_sentence_fills_its_card(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(f"{app('app.py')}/translate?text={FLAGSHIP}")
    ribbon = page.locator(RIBBON)
    expect(ribbon.locator("[data-side=memory]")).to_contain_text("grass")
    settled(page)
    assert span(ribbon.locator("[data-side=memory] .item")) >= WIDE_ENOUGH * span(ribbon)
    choose_more(ribbon, "Words")
    expect(ribbon.locator(".item.seam")).to_have_count(0)


@pytest.mark.long
def test_sentence_next_to_picture_is_shown_whole(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(f"{app('app.py')}/translate_picture")
    field = page.get_by_label("English sentence")
    expect(field).to_be_in_viewport()
    settled(page)
    assert field.evaluate("one => one.scrollWidth <= one.clientWidth")
    # The header of the app covers what is above its lower edge.
    box, header = field.bounding_box(), page.get_by_test_id("stHeader").bounding_box()
    assert box is not None and header is not None and box["y"] >= header["y"] + header["height"]


def span(parts: Locator) -> float:
    """Return the width from the left of the first part to the right of the last one, in px."""
    # One call, because the ribbon draws its chips again when a font or another width arrives.
    edges: list[list[float]] = parts.evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    return max(right for _, right in edges) - min(left for left, _ in edges)


@pytest.mark.long
def test_read_keeps_its_text_in_view(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/read")
    ribbon = page.locator(RIBBON)
    expect(ribbon).to_be_visible()
    settled(page)
    text = page.locator(".st-key-read_input textarea, .st-key-read_input input").first
    text.fill("A dog swims in a lake.")
    text.press("Control+Enter")
    expect(ribbon.locator("[data-side=memory]").first).to_contain_text("swims")
    settled(page)
    expect(text).to_have_value("A dog swims in a lake.")
    expect(text).to_be_in_viewport()


@pytest.mark.long
def test_four_ways_opens_at_its_first_look(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/four_ways")
    expect(page.locator(".looks[data-ready] .say")).to_contain_text("Look 1 of ")


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, 6))
def test_address_of_the_tour_restores_its_step(app: App, page: Page, number: int) -> None:
    address = build_addresses(file.load(HERO))[number - 1].removeprefix("./")
    page.goto(f"{app('app.py')}/{address}")
    expect(page.locator(".tour .says")).not_to_be_empty()
    following = page.locator(".tour a").filter(has_text=f"{number} of 5")
    expect(following).to_be_visible()

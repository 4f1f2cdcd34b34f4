"""The film strip in a real browser: its axis, its sentence, its words and its steps."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/strip_app.py"


def opened(page: Page, address: str) -> Locator:
    """Open the page and return its film strip."""
    page.goto(address)
    strip = page.locator(".strip[data-ready]")
    expect(strip).to_have_count(1)
    settled(page)
    return strip


@pytest.fixture
def strip(app: App, page: Page) -> Locator:
    """Open the film strip of a fake trace."""
    return opened(page, app(SCRIPT))


def word(strip: Locator, name: str) -> Locator:
    """Return the button of a word."""
    return strip.locator(".plane").get_by_role("button", name=name, exact=True)


@pytest.mark.long
def test_strip_bars_are_below_their_frames(strip: Locator) -> None:
    bar = strip.locator(".lane").nth(1).locator("i").last.bounding_box()
    frames = [strip.locator(".frames img").nth(place).bounding_box() for place in (1, 2)]
    assert bar and frames[0] and frames[1]
    assert abs(bar["x"] - frames[0]["x"]) < 3
    assert abs(bar["x"] + bar["width"] - frames[1]["x"] - frames[1]["width"]) < 3
    assert bar["y"] > frames[0]["y"] + frames[0]["height"], "the strip is on top"


@pytest.mark.long
def test_strip_percentages_are_shares_of_attention(strip: Locator) -> None:
    lanes = strip.locator(".lane")
    assert lanes.all_inner_texts() == ["100 %", "63 %", ""]


def test_strip_opens_with_words_that_watched_several_frames(strip: Locator) -> None:
    expect(strip.locator(".say")).to_have_text(
        "“1” attends most to frames 2 to 3 as one area, with 63 %."
    )
    expect(strip.locator(".frames [data-lit]")).to_have_count(2)
    expect(word(strip, "1")).to_have_attribute("data-lit", "")


@pytest.mark.long
def test_strip_keeps_the_words_that_are_clicked(strip: Locator) -> None:
    locked = strip.page.get_by_text("locked:")
    word(strip, "3").hover()
    expect(strip.locator(".say")).to_have_text("“3” attends most to frame 5, with 100 %.")
    word(strip, "3").click()
    expect(locked).to_have_text("locked: [0]")
    word(strip, "⟨end⟩").press("Enter")
    expect(locked).to_have_text("locked: [0, 2]")
    expect(word(strip, "3")).to_have_attribute("aria-pressed", "true")
    strip.page.mouse.move(2, 2)
    word(strip, "⟨end⟩").blur()
    expect(strip.locator(".say")).to_have_text(
        "“3” attends most to frame 5 and “⟨end⟩” attends to no frame."
    )
    word(strip, "3").press("Escape")
    expect(locked).to_have_text("locked: []")


@pytest.mark.long
def test_strip_is_still_with_reduced_motion(strip: Locator) -> None:
    following = strip.get_by_role("button", name="Next frame")
    said = []
    for _ in range(6):
        following.click()
        said.append(strip.locator(".say").inner_text())
        expect(strip.locator(".frames .current")).to_have_count(1)
    assert said[1] == said[2].replace("3", "2") and "“1”" in said[1] and "“3”" in said[4]
    assert said[0] == "Frame 1 is in no word’s heaviest area."
    following.click()
    expect(strip.locator(".frames .current")).to_have_count(0)


@pytest.mark.long
def test_strip_plays_only_after_a_click(app: App, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    strip = opened(context.new_page(), app(SCRIPT))
    assert strip.locator(".current").count() == 0
    strip.get_by_role("button", name="Play clip and words").click()
    expect(strip.get_by_role("button", name="Pause")).to_be_visible()
    expect(strip.locator(".now img")).to_be_visible()
    expect(strip.get_by_role("button", name="Play clip and words")).to_be_visible()
    expect(strip.locator(".current")).to_have_count(0)
    context.close()


@pytest.mark.long
def test_strip_marks_the_actions_on_demand(strip: Locator) -> None:
    expect(strip.locator("u")).to_have_count(0)
    strip.get_by_role("button", name="Mark the actions").click()
    expect(strip.locator("u")).to_have_count(4 * 3)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_strip_is_accessible(strip: Locator, scheme: Literal["light", "dark"]) -> None:
    strip.page.emulate_media(color_scheme=scheme)
    settled(strip.page)
    found = Axe().run(strip.page).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []


@pytest.mark.long
def test_strip_fits_a_phone(strip: Locator) -> None:
    strip.page.set_viewport_size({"width": 390, "height": 860})
    settled(strip.page)
    wide = strip.evaluate("strip => strip.scrollWidth - strip.clientWidth")
    assert wide <= 0

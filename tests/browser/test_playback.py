"""Playback in a real browser: play, pause, scrubbing to a word, and the keyboard."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/playback_app.py"


@pytest.fixture
def player(app: App, page: Page) -> Locator:
    page.goto(app(SCRIPT))
    shown = page.locator(".player[data-ready]")
    expect(shown).to_have_count(1)
    settled(page)
    return shown


def marked(player: Locator) -> Locator:
    return player.locator(".sentence [aria-current]")


@pytest.mark.long
def test_caption_is_played_word_by_word_and_replayed(player: Locator) -> None:
    expect(marked(player)).to_have_text("a")
    expect(player.locator(".sentence")).to_have_text("a small red circle")
    first = player.locator("img").get_attribute("src")
    player.get_by_role("button", name="Play").click()
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
    expect(marked(player)).to_have_text("circle")
    assert player.locator("img").get_attribute("src") != first
    expect(player.locator("img")).to_have_attribute("alt", "circle, word 4 of 4")
    player.get_by_role("button", name="Play").click()
    expect(marked(player)).to_have_text("small")


@pytest.mark.long
def test_playback_starts_and_stops_on_request(player: Locator) -> None:
    player.page.wait_for_timeout(1000)
    expect(marked(player)).to_have_text("a")
    player.get_by_role("button", name="Play").click()
    player.get_by_role("button", name="Pause").click()
    at = marked(player).text_content()
    player.page.wait_for_timeout(1000)
    expect(marked(player)).to_have_text(at or "")


def test_keyboard_plays_and_moves_to_a_word(player: Locator) -> None:
    keyboard, scrubber = player.page.keyboard, player.get_by_role("slider", name="Word")
    scrubber.focus()
    keyboard.press("End")
    expect(marked(player)).to_have_text("circle")
    expect(scrubber).to_have_attribute("aria-valuetext", "circle, word 4 of 4")
    keyboard.press("ArrowLeft")
    expect(scrubber).to_have_attribute("aria-valuetext", "red, word 3 of 4")
    keyboard.press("Home")
    keyboard.press("Shift+Tab")
    expect(player.get_by_role("button", name="Play")).to_be_focused()
    keyboard.press("Space")
    expect(marked(player)).to_have_text("circle")
    expect(player.get_by_role("button", name="Play")).to_be_focused()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_playback_is_accessible(app: App, page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(app(SCRIPT))
    player = page.locator(".player[data-ready]")
    settled(page)
    player.get_by_role("button", name="Play").hover()
    found = Axe().run(page).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []
    ink, ground = (
        player.locator(".play").evaluate(f"button => getComputedStyle(button).{part}")
        for part in ("color", "backgroundColor")
    )
    assert ink != ground and ground == "rgba(0, 0, 0, 0)"


@pytest.mark.long
def test_playback_fits_a_phone(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.goto(app(SCRIPT))
    player = page.locator(".player[data-ready]")
    expect(player).to_be_visible()
    assert player.evaluate("root => root.scrollWidth <= root.clientWidth")

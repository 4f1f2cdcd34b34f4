"""Playback in a real browser: it plays, it pauses, and the scrubber goes to a word."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import App

MARKED = ".js-plotly-plot .textpoint tspan[style*='underline']"


def test_a_caption_is_played_word_by_word(app: App, page: Page) -> None:
    page.goto(app("tests/browser/playback_app.py"))
    marked = page.locator(MARKED)
    expect(marked).to_have_text("a")
    before = page.locator(".js-plotly-plot .imagelayer image, .js-plotly-plot .layer-below image").first.get_attribute(
        "href"
    )
    page.locator(".updatemenu-button").first.click()
    expect(marked).to_have_text("circle")
    after = page.locator(".js-plotly-plot .imagelayer image, .js-plotly-plot .layer-below image").first.get_attribute(
        "href"
    )
    assert before != after
    page.locator(".slider-rail-touch-rect").first.click(position={"x": 4, "y": 4})
    expect(marked).to_have_text("a")

"""What if with a shipped model: hidden words, decoding again, and a link that keeps both."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, open_tab, settled

SENTENCE = "A small dog runs across the wet grass."
ASKED = {
    "model": "char-tiny-area",
    "text": SENTENCE,
    "site": "encoder-decoder",
    "layer": "2",
    "items": "5",
}


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800])
def test_words_are_hidden_and_the_sentence_decoded_again(app: App, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app('app.py')}/translate?{urlencode(ASKED)}")
    ribbons = page.locator(".ribbon[data-ready]")
    expect(ribbons).to_have_count(1)
    panel = open_tab(page, "What if", "what_if")
    panel.get_by_text("Hide words").click()
    panel.get_by_role("button", name="small").click()
    panel.get_by_role("button", name="Add this change").click()
    expect(panel.get_by_text("Hidden: “small”")).to_be_visible()
    panel.get_by_role("button", name="Decode again").click()
    expect(ribbons).to_have_count(2)
    assert "".join(ribbons.nth(1).locator(".item.hidden").all_text_contents()) == "small"
    expect(ribbons.nth(0).locator(".item.hidden")).to_have_count(0)
    expect(panel.get_by_text("Instead of:")).to_be_visible()
    expect(panel.locator(".js-plotly-plot")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    settled(page)
    link = parse_qs(urlsplit(page.url).query)
    assert link["changes"] == ["hide:source:items=3-7"]
    page.goto(page.url)
    expect(ribbons).to_have_count(2)
    panel.get_by_role("button", name="Measure").click()
    expect(panel.get_by_text("By chance, 5 draws")).to_be_visible(timeout=60_000)

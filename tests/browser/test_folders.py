"""A folder of `transformers` in the app, in a real browser: edited, compared, and under a ban."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests import marian
from tests.browser.conftest import App, open_form, settled

ASKED = {"model": "small-marian", "text": marian.SENTENCE, "site": "encoder-decoder"}


@pytest.fixture
def address(app: App, marian_folder: Path) -> str:
    return app("app.py", "--model", str(marian_folder))


def test_a_text_is_edited_and_translated_anew(address: str, page: Page) -> None:
    page.goto(f"{address}/translate?{urlencode(ASKED)}")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_have_count(1)
    expect(page.get_by_text(marian.GERMAN, exact=True).first).to_be_visible()
    open_form(page, "translate")
    box = page.get_by_label("English text")
    box.fill("a red bird sleeps here.")
    box.press("Control+Enter")
    expect(page.get_by_text("ein roter Vogel schläft hier.", exact=True).first).to_be_visible()
    expect(ribbon.locator("#query-0")).to_have_text("ein")


def test_two_models_stand_beside_each_other(address: str, page: Page) -> None:
    page.goto(f"{address}/translate?{urlencode({**ASKED, 'compare': 'token-boundary'})}")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(2)
    expect(page.locator(".st-key-translate_asked")).to_contain_text("small-marian (MarianMTModel)")


@pytest.mark.parametrize("width", [1280, 800])
def test_a_word_is_banned_and_the_sentence_written_anew(
    address: str, page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    locked = {**ASKED, "side": "memory", "items": "2"}
    page.goto(f"{address}/translate?{urlencode(locked)}")
    ribbons = page.locator(".ribbon[data-ready]")
    expect(ribbons).to_have_count(1)
    page.get_by_text("What if", exact=True).click()
    panel = page.locator(".st-key-translate_what_if")
    panel.get_by_role("button", name="Add this change").click()
    expect(panel.get_by_text("Banned: “small”", exact=False)).to_be_visible()
    panel.get_by_role("button", name="Decode again").click()
    expect(ribbons).to_have_count(2)
    expect(
        panel.get_by_text("Mean probability of the original output", exact=False)
    ).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    settled(page)
    assert "changes=weigh" in page.url

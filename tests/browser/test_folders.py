"""A folder of `transformers` in the app: its outputs are edited, compared, and changed by a ban."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests import marian
from tests.browser.conftest import App, open_tab, settled

ASKED = {"model": "small-marian", "text": marian.SENTENCE, "site": "encoder-decoder"}


@pytest.fixture(scope="module")
def address(app: App, marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Serve an app with the folder and its own folder of analyses, and return its address."""
    analyses = tmp_path_factory.mktemp("analyses")
    return app("app.py", "--model", str(marian_folder), AREAVIZ_ANALYSES=str(analyses))


@pytest.mark.long
def test_edited_text_is_translated_again(address: str, page: Page) -> None:
    page.goto(f"{address}/translate?{urlencode(ASKED)}")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_have_count(1)
    expect(ribbon.locator("#query-0")).to_have_text(marian.GERMAN.split()[0])
    # A folder has no stored opening, so the first look is chosen from its weights.
    expect(ribbon.locator("[data-lit]")).to_have_count(1)
    expect(ribbon.locator(".say")).to_contain_text("To write “")
    box = page.get_by_label("English text")
    box.fill("a red bird sleeps here.")
    box.press("Enter")
    written = re.compile("ein␣?roter␣?Vogel␣?schläft␣?hier␣?\\.")
    expect(ribbon.locator("[data-side=query] .rows")).to_contain_text(written)
    expect(ribbon.locator("#query-0")).to_have_text("ein")


def test_two_models_are_side_by_side(address: str, page: Page) -> None:
    page.goto(f"{address}/translate?{urlencode({**ASKED, 'compare': 'token-boundary'})}")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(2)
    expect(page.locator(".st-key-translation_0")).to_contain_text("small-marian (MarianMTModel)")


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800])
def test_banned_word_changes_the_written_sentence(address: str, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    locked = {**ASKED, "side": "memory", "items": "2"}
    page.goto(f"{address}/translate?{urlencode(locked)}")
    ribbons = page.locator(".ribbon[data-ready]")
    expect(ribbons).to_have_count(1)
    panel = open_tab(page, "What if", "what_if")
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


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800])
def test_set_is_analysed_and_an_example_opened(
    address: str, page: Page, tmp_path: Path, width: int
) -> None:
    pairs = marian.pairs()[width % 7 :: 36]
    for place, (name, texts) in enumerate(zip(("en", "de"), zip(*pairs, strict=True), strict=True)):
        (tmp_path / f"{width}{place}.{name}.txt").write_text("\n".join(texts), "utf-8")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{address}/analyse?new=1")
    settled(page)
    page.get_by_text("Upload", exact=True).first.click()
    page.locator('[class*="st-key-analyse_files"] input[type="file"]').set_input_files(
        sorted(tmp_path.iterdir())
    )
    expect(page.get_by_text("10 examples, 10 with references")).to_be_visible()
    settled(page)
    page.get_by_label("Model", exact=True).click()
    page.get_by_role("option", name="small-marian", exact=False).click()
    settled(page)
    page.get_by_role("button", name="Run 10 examples").click()
    expect(page.get_by_text("10 examples. Click", exact=False)).to_be_visible()
    settled(page)
    rows = page.locator(".st-key-analyse_table .rows[data-ready] tbody tr")
    expect(rows).to_have_count(10)
    rows.first.click()
    expect(page.locator(".st-key-analyse_example h3")).to_be_in_viewport()
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    settled(page)
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.long
def test_weight_is_explained_and_output_attributed(address: str, page: Page) -> None:
    locked = {**ASKED, "side": "query", "items": "1"}
    page.goto(f"{address}/translate?{urlencode(locked)}")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    settled(page)
    open_tab(page, "Why this weight", "why")
    expect(page.get_by_text("of the attention,", exact=False)).to_be_visible()
    attribution = open_tab(page, "Attribution", "attribution")
    attribution.get_by_text("Compare with attribution", exact=True).click()
    expect(page.get_by_text("Agreement with this map: rollout", exact=False)).to_be_visible()
    open_tab(page, "All words at once", "view")
    page.get_by_role("radio", name="Beside attribution").click(force=True)
    expect(page.get_by_text("gradient × input", exact=True)).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)


@pytest.mark.long
def test_folder_card_states_known_facts(address: str, page: Page) -> None:
    page.goto(f"{address}/model?model=small-marian")
    expect(page.get_by_role("heading", level=1)).to_have_text("small-marian (MarianMTModel)")
    expect(page.get_by_text("An external model", exact=False).first).to_be_visible()

"""The app with the shipped models, used as a new user does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, open_options, settled
from tests.browser.server import ROOT
from tests.sampled import sampled

SENTENCE = "A man plays the guitar."
PICTURE = ":is(.ribbon, .grid, .hearing, .looks, .strip, .hops)[data-ready]"
"""Selects the elements that show a result."""
RUN_AT_ONCE = ("translate", "caption", "translate_picture", "four_ways", "listen", "watch")
"""Pages that run a model as soon as they open."""
PAGES = (
    "",
    "translate",
    "read",
    "caption",
    "translate_picture",
    "four_ways",
    "listen",
    "watch",
    "reason",
    "analyse",
    "your_tensors",
    "how_areas_work",
    "models",
    "model",
    "teach",
)


def test_every_page_is_tested() -> None:
    files = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert files - {"home"} == set(PAGES) - {""}


@pytest.fixture
def translated(app: App, page: Page) -> Locator:
    """Type a sentence, translate it, and return its ribbon."""
    page.goto(app("app.py"))
    page.get_by_role("button", name="Explore").click()
    page.get_by_role("menuitem", name="Translate", exact=True).click()
    settled(page)
    box = page.get_by_label("English text")
    box.fill(SENTENCE)
    box.press("Enter")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_have_count(1)
    expect(ribbon.locator("#query-0")).to_have_text("Ein")
    expect(ribbon.locator("#query-1")).to_have_text("Mann")
    settled(page)
    return ribbon


def point(ribbon: Locator, item: str) -> None:
    ribbon.page.mouse.move(2, 2)
    ribbon.locator(f"#{item}").hover()


def test_typed_sentence_is_translated_and_highlights_on_hover(translated: Locator) -> None:
    expect(translated.page.get_by_label("English text")).to_have_value(SENTENCE)
    point(translated, "query-4")
    expect(translated.locator(".say")).to_contain_text("most to")
    expect(translated.locator(".legend li")).to_have_count(4)


@pytest.mark.long
def test_click_locks_word_and_head_can_be_chosen(translated: Locator) -> None:
    point(translated, "query-5")
    translated.locator("#query-5").click()
    translated.page.mouse.move(2, 2)
    expect(translated.locator(".say")).to_contain_text("most to")
    translated.get_by_role("button", name="Head 2").click()
    expect(translated.locator(".caption")).to_contain_text("head 2 of 4")


@pytest.mark.long
def test_answer_does_not_redraw_form_fields(translated: Locator) -> None:
    """Check that fields are not redrawn, because a redrawn field loses typed text."""
    page = translated.page
    box = page.get_by_label("English text")
    box.evaluate("box => (box.isTheSame = true)")
    open_options(page, "translate").get_by_role("radio", name="Beam", exact=True).click()
    expect(page.get_by_label("Beam width")).to_be_visible()
    settled(page)
    assert "method=beam" in page.url
    assert box.evaluate("box => box.isTheSame")


def test_link_restores_page_in_a_fresh_session(app: App, page: Page) -> None:
    asked = {
        "text": SENTENCE,
        "method": "beam",
        "beam": "2",
        "site": "encoder self",
        "layer": "2",
        "items": "3",
    }
    page.goto(f"{app('app.py')}/translate?{urlencode(asked)}")
    expect(page.get_by_label("English text")).to_have_value(SENTENCE)
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("most to")
    expect(open_options(page, "translate").get_by_label("Beam width")).to_have_value("2")


@pytest.mark.long
def test_picture_can_be_removed(translated: Locator) -> None:
    page = translated.page
    page.get_by_role("button", name="Download").first.click()
    with page.expect_download() as started:
        page.get_by_role("button", name="SVG", exact=True).first.click()
    path = Path(started.value.path())
    assert path.read_bytes().lstrip().startswith(b"<?xml")


@pytest.mark.parametrize("path", sampled(PAGES, "models"))
@pytest.mark.parametrize("width", sampled([1920, 1280, 800, 390], 390))
def test_no_page_scrolls_sideways(app: App, page: Page, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app('app.py')}/{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("scheme", sampled(["light", "dark"], "dark"))
@pytest.mark.parametrize("path", sampled(PAGES, "translate"))
def test_pages_are_accessible(
    app: App, page: Page, path: str, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{app('app.py')}/{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if path == "translate":
        expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
        # The menus have their own accessibility problems.
        open_options(page, "translate")
    if path in RUN_AT_ONCE:
        expect(page.locator(PICTURE).first).to_be_visible()
    settled(page)
    page.wait_for_timeout(2000)
    found = Axe().run(page).response["violations"]
    barriers = {
        rule["id"]: [node["html"][:200] for node in rule["nodes"]]
        for rule in found
        if rule["impact"] in ("moderate", "serious", "critical")
    }
    assert barriers == {}

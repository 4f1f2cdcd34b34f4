"""Pages in other languages: nothing stays English, nothing is clipped, and right to left works."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from areaviz.app.examples import EXAMPLES
from areaviz.learn.model_questions import DEBATED_TEXT
from areaviz.samples.paths import HERO
from areaviz.trace import file
from tests.browser.conftest import PATIENCE, App, settled
from tests.sampled import sampled

PAGES = ("/?tour=1", "/how_areas_work", "/how_areas_work?q=1&deep=1", "/teach")
"""Pages whose texts are all in the catalogue."""
SHOWN = """() => {
  const found = [];
  const visit = (root) => {
    for (const one of root.querySelectorAll('*')) {
      if (one.shadowRoot) visit(one.shadowRoot);
      const isSkipped = one.matches('style, script, [data-testid=stIconMaterial]');
      if (isSkipped || !one.checkVisibility()) continue;
      for (const node of one.childNodes) if (node.nodeType === 3) found.push(node.data);
      const names = root === document ? ['alt'] : ['alt', 'aria-label', 'title'];
      for (const name of names) found.push(one.getAttribute(name) ?? '');
    }
  };
  visit(document);
  return found;
}"""
CLIPPED = """() => {
  const found = [];
  const visit = (root) => {
    for (const one of root.querySelectorAll('*')) {
      if (one.shadowRoot) visit(one.shadowRoot);
      const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (!text || !one.checkVisibility() || one.clientWidth < 2) continue;
      const hides = getComputedStyle(one).overflowX !== 'visible';
      if (hides && one.scrollWidth > one.clientWidth + 1) found.push(one.textContent);
    }
  };
  visit(document);
  return found;
}"""


def data_words() -> set[str]:
    """Return the words that models read and write, which no catalogue has."""
    trace = file.load(HERO)
    texts = [field.raw for field in trace.fields.values()]
    texts += [label for options in trace.output.alternatives for label, _ in options]
    texts += [example.text for example in EXAMPLES] + [DEBATED_TEXT]
    # Two texts are Streamlit's own.
    texts += ["areaviz English Deutsch end", "Skip to main content", "Logo"]
    return set(re.findall(r"[A-Za-zäöüß]+", " ".join(texts)))


@pytest.mark.parametrize("width", sampled([1280, 390], 390))
@pytest.mark.parametrize("path", sampled(PAGES, "/?tour=1"))
def test_no_text_stays_english_or_is_clipped(app: App, page: Page, path: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{app('app.py')}{path}{'&' if '?' in path else '?'}lang=en-XA")
    expect(page.locator("h1, h2").first).to_contain_text("⟦", timeout=PATIENCE)
    settled(page)
    known = data_words()
    left = {}
    for text in page.evaluate(SHOWN):
        words = set(re.findall(r"[A-Za-z]{2,}", re.sub(r"https?://\S+", "", text)))
        if words - known:
            left[text] = words - known
    assert left == {}
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.long
def test_page_is_laid_out_right_to_left(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/?lang=ar-XB")
    title = page.locator("h1")
    expect(title).to_contain_text("⟦", timeout=PATIENCE)
    settled(page)
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    expect(title).to_have_css("text-align", "start")
    tour = page.locator(".st-key-tour_link").bounding_box()
    assert tour is not None and tour["x"] < 200


@pytest.mark.long
def test_sentence_keeps_direction_on_right_to_left_page(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1&lang=ar-XB")
    words = page.locator(".lesson .picture .words")
    expect(words.first).to_have_css("direction", "ltr", timeout=PATIENCE)
    expect(page.locator(".lesson .question")).to_have_css("direction", "rtl")


def test_switch_changes_language_of_all_parts(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/?lang=de")
    said = page.locator(".ribbon[data-ready] .say")
    expect(said).to_contain_text("Um „", timeout=PATIENCE)
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_role("button", name="English", exact=True).click()
    expect(said).to_contain_text("To write “", timeout=PATIENCE)
    expect(page).to_have_url(re.compile(r"lang=en"))
    expect(page.get_by_role("button", name="Deutsch", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_menu_keeps_the_chosen_language(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/teach?lang=de")
    expect(page.locator("h1")).to_contain_text("Eine Schulstunde", timeout=PATIENCE)
    settled(page)
    page.get_by_role("button", name="Erkunden").click()
    page.get_by_role("menuitem", name="Übersetzen", exact=True).click()
    expect(page).to_have_url(re.compile(r"/translate\?.*lang=de"), timeout=PATIENCE)
    expect(page.get_by_role("button", name="English", exact=True)).to_be_visible()

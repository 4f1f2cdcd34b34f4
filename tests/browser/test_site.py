"""The whole site, opened from a disk: it fits, it is accessible, and it requests nothing else."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from areaviz.cards.card import read_card
from areaviz.cli.live import make_live_html
from areaviz.learn.arithmetic import BOUNDARY_WORDS
from areaviz.learn.tour import TOUR_STORY
from areaviz.live.build import FAMILIES
from areaviz.samples.paths import CHECKPOINTS, HOME, OPENINGS
from areaviz.site.frame import Site
from areaviz.site.home import list_stored_traces
from areaviz.site.pages import LARGEST, PAGES, iterate_files, make_site
from areaviz.texts.catalogue import PSEUDO
from tests.browser.test_languages import CLIPPED, SHOWN, data_words

pytestmark = pytest.mark.browser
INNER = (
    *("cards/token-boundary.html", "lessons/2.html", "tour/1.html", "tour/5.html"),
    *("de/index.html", "de/teach.html", "de/lessons/6.html", "de/tour/4.html"),
)
"""Pages in folders that are checked beside those of the menu."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "made"
    size = make_site(folder, CHECKPOINTS, partial(make_live_html, checkpoints=CHECKPOINTS))
    assert size == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size <= LARGEST
    return folder


def test_site_has_live_page_of_every_family(site: Path) -> None:
    names = [path.stem for path in (site / "live").iterdir()]
    families = {read_card(CHECKPOINTS / name / "card.json").family for name in names}
    assert families == set(FAMILIES)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_of_the_site_fit_and_are_accessible(
    page: Page, site: Path, width: int, scheme: Any
) -> None:
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for name in [*(f"{one.name}.html" for one in PAGES), *INNER]:
        page.goto((site / name).as_uri())
        if name.endswith("index.html"):
            expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        results = Axe().run(page)
        assert results.violations_count == 0, (name, results.generate_report())
    root = site.as_uri()
    assert [url for url in asked if not url.startswith((root, "data:", "blob:"))] == []
    assert problems == []


def test_keyboard_leads_from_home_to_live_page_and_back(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    tried = page.get_by_role("link", name="Try your own sentence")
    expect(tried).to_have_attribute("href", "live/token-boundary.html")
    for _ in range(4):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Live models")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Live models", level=1)).to_be_visible()
    page.get_by_role("main").get_by_role("link").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("html[data-live=ready]")).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)


def test_question_is_answered_by_keyboard_and_leads_on(page: Page, site: Path) -> None:
    page.goto((site / "lessons" / "1.html").as_uri())
    words = page.locator(".lesson .picture button")
    words.first.press("Enter")
    words.first.press("Enter")
    page.get_by_role("button", name="Check my guess", exact=True).press("Enter")
    expect(page.locator(".lesson .learned")).to_be_visible()
    assert page.url.endswith("/1.html?shown=1")
    page.reload()
    expect(page.locator(".lesson .learned")).to_be_visible()
    page.get_by_role("button", name="Go deeper").press("Enter")
    expect(page.locator(".lesson .deep")).to_be_visible()
    page.get_by_role("link", name="Next question").press("Enter")
    expect(page.locator(".lesson .count")).to_contain_text("2 of")


@pytest.mark.long
def test_tour_leads_through_stored_runs_to_live_model(page: Page, site: Path) -> None:
    page.goto((site / "tour.html").as_uri())
    page.get_by_role("main").get_by_role("link", name="Step 1").press("Enter")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    for number in range(2, 6):
        page.get_by_role("link", name="Next").press("Enter")
        expect(page.get_by_role("region", name="Tour")).to_contain_text(f"Step {number} of 5")
    page.get_by_role("link", name="Ask without this fact").press("Enter")
    expect(page.locator("html[data-live=ready]")).to_have_count(1)


def test_address_link_and_browser_choose_the_language(chromium: Any, site: Path) -> None:
    context = chromium.new_context(locale="de-AT")
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_role("link", name="English", exact=True).click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("link", name="Lessons", exact=True).click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.goto((site / "lessons" / "6.html").as_uri() + "?lang=de&shown=1")
    expect(page.locator(".lesson .count")).to_contain_text("Frage 6 von")
    expect(page.locator(".lesson .after")).to_be_visible()
    page.get_by_role("link", name="Nächste Frage").click()
    expect(page.locator(".lesson .count")).to_contain_text("Frage 7 von")
    context.close()


def test_no_text_of_a_translated_page_stays_english(page: Page, tmp_path: Path) -> None:
    traces = list_stored_traces(HOME, OPENINGS)
    none: dict[str, Any] = {}
    site = Site(none, (), traces, PAGES, str, CHECKPOINTS, language=PSEUDO)
    known = (
        data_words() | SITE_DATA | set(re.findall(r"\w+", f"{TOUR_STORY.text} {BOUNDARY_WORDS}"))
    )
    for path, text in iterate_files(site):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    left = {}
    for path in PSEUDO_PAGES:
        page.goto(f"{(tmp_path / PSEUDO / path).as_uri()}?lang={PSEUDO}")
        expect(page.locator("[data-ready], .plan, ol").first).to_be_attached()
        for shown in page.evaluate(SHOWN):
            if words := set(re.findall(r"[A-Za-z]{2,}", shown)) - known:
                left[path, shown] = words
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, path
        assert page.evaluate(CLIPPED) == [], path
    assert left == {}


PSEUDO_PAGES = (
    "index.html",
    "tour.html",
    "tour/1.html",
    "lessons.html",
    "lessons/6.html",
    "teach.html",
)
SITE_DATA = {"token", "boundary", "device", "cpu", "log", "probability", "in", "XA", "lang"}
"""Names of models and of details of a run, which stay as they are."""


def test_home_without_scripts_shows_a_picture_and_its_links(chromium: Any, site: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    expect(page.locator("#without-script svg")).to_be_visible()
    expect(page.get_by_role("link", name="Live models")).to_be_visible()
    context.close()

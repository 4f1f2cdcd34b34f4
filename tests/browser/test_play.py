"""The ribbon's animation: it moves only after Play, and its sentences match the trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import areaviz
from areaviz.samples.paths import HOME
from areaviz.trace import file
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.views.ribbon.table import join_items
from tests import fakes
from tests.browser.conftest import App

SCRIPT = "tests/browser/ribbon_app.py"
SITE = "encoder-decoder"


@pytest.fixture
def moving_page(chromium: Browser) -> Iterator[Page]:
    """Open a page for a user who does not prefer reduced motion."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def opened(app: App, page: Page, number: int = 0, **settings: str) -> Locator:
    """Open the page of two ribbons, and return one of them."""
    page.goto(app(SCRIPT, **settings))
    ribbon = page.locator(".ribbon[data-ready]").nth(number)
    expect(ribbon.locator(".opener")).to_be_visible()
    return ribbon


def stills(ribbon: Locator) -> list[str]:
    """Play five steps, and return the sentence of every step."""
    told = []
    for press in range(5):
        ribbon.locator(".go" if press else ".opener").click()
        told.append(ribbon.locator(".step").inner_text())
    return told


def played_span(trace: Trace, item: int) -> tuple[str, float, int]:
    """Return the text, weight and head of the area at the beginning of an item's sentence."""
    attention = trace.maps[SITE]
    taken: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for head in range(attention.heads):
        top = top_areas(attention, 0, head, item, 1)[0]
        items = range(top.area.left, top.area.left + top.area.width)
        taken[join_items(trace.fields[attention.memory], items)].append((top.weight, head))
    text = max(taken, key=lambda one: sum(weight for weight, _ in taken[one]))
    weight, head = max(taken[text])
    return text, weight, head


@pytest.mark.long
def test_play_shows_trace_weights_in_five_stills(app: App, page: Page) -> None:
    ribbon, trace = opened(app, page, RIBBON_TOKENS="1"), file.load(HOME)
    queries = range(len(trace.fields[trace.maps[SITE].query]))
    item = next(one for one in queries if " " in played_span(trace, one)[0])
    text, weight, head = played_span(trace, item)
    ribbon.locator(f"#query-{item}").click()
    told = stills(ribbon)
    assert len(set(told)) == 5
    assert f"Here “{text}” becomes one area." in told[1]
    assert "from where it begins and where it ends" in told[2]
    assert f"{weight * 100:.0f} % of the weight of head {head + 1} goes to “{text}”." in told[3]
    assert ribbon.locator(".scene .word.taken").all_text_contents() == text.split()
    expect(ribbon.locator(".scene .label").last).to_have_text(f"{weight * 100:.0f} %")
    expect(ribbon.locator(".step")).to_have_attribute("aria-live", "polite")


@pytest.mark.long
def test_play_is_still_with_reduced_motion(app: App, page: Page) -> None:
    ribbon = opened(app, page)
    ribbon.locator(".opener").click()
    before = ribbon.screenshot()
    page.wait_for_timeout(800)
    assert ribbon.screenshot() == before


def test_exported_page_plays_the_attention(page: Page, tmp_path: Path) -> None:
    areaviz.export(fakes.trace(layers=1), tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    ribbon = page.locator(".ribbon[data-ready]")
    assert len(set(stills(ribbon))) == 5


@pytest.mark.long
def test_play_explains_a_model_without_areas(app: App, page: Page) -> None:
    told = stills(opened(app, page, number=0))
    assert "It looks at one character at a time" in told[1]
    assert "has a key" in told[2]


@pytest.mark.long
def test_play_shows_the_pinned_item(app: App, page: Page) -> None:
    ribbon = opened(app, page, number=1)
    ribbon.locator("#query-5").click()
    told = stills(ribbon)
    assert told[0].startswith("The model has written “Ein k”")
    assert told[4].endswith("helps to write “l”.")
    expect(ribbon.locator(".scene .word.pointed")).to_have_text("l")


def test_play_works_by_keyboard(app: App, page: Page) -> None:
    ribbon = opened(app, page)
    opener = ribbon.locator(".opener")
    opener.focus()
    page.keyboard.press("Enter")
    expect(ribbon.locator(".go")).to_be_focused()
    first = ribbon.locator(".step").inner_text()
    page.keyboard.press("ArrowRight")
    expect(ribbon.locator(".step")).not_to_have_text(first)
    page.keyboard.press("ArrowLeft")
    expect(ribbon.locator(".step")).to_have_text(first)
    page.keyboard.press("Escape")
    expect(ribbon.locator(".play")).to_be_hidden()
    expect(opener).to_be_focused()
    expect(ribbon.locator(".threads .thread").first).to_be_visible()


@pytest.mark.long
def test_play_starts_on_press_and_pauses(app: App, moving_page: Page) -> None:
    ribbon = opened(app, moving_page)
    scene = ribbon.locator(".scene")
    expect(scene).to_be_hidden()
    ribbon.locator(".opener").click()
    first = ribbon.locator(".step").inner_text()
    expect(ribbon.locator(".step")).not_to_have_text(first)
    ribbon.get_by_role("button", name="Pause").click()
    paused = scene.inner_html()
    moving_page.wait_for_timeout(300)
    assert scene.inner_html() == paused
    ribbon.get_by_role("button", name="Continue").click()
    expect(ribbon.get_by_role("button", name="Play again")).to_be_visible(timeout=60_000)

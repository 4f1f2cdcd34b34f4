"""The questions of the lessons in a browser: guess, reveal, address, size and keyboard."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from areaviz.learn.questions import QUESTIONS
from tests.browser.conftest import App, settled
from tests.browser.processor import PageThread
from tests.sampled import sampled

pytestmark = pytest.mark.browser
TURNS = 4
FITS = "document.documentElement.scrollWidth <= innerWidth"


def guess(page: Page, picture: str) -> None:
    buttons = page.locator(".lesson .picture button")
    if picture == "marks":
        for slider in page.get_by_role("slider").all():
            slider.press("ArrowRight")
    elif picture == "order":
        for number in range(buttons.count()):
            buttons.nth(number).press("Enter")
    else:
        buttons.nth(1).press("Enter")


@pytest.mark.parametrize("number", sampled(QUESTIONS, 1))
def test_keyboard_guess_leads_to_the_answer(app: App, page: Page, number: int) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(f"{app('app.py')}/how_areas_work?q={number}")
    lesson = page.locator(".lesson[data-ready]")
    expect(lesson).to_be_visible()
    expect(page.locator(".lesson .after")).to_be_hidden()
    expect(page.get_by_role("button", name="Check my guess", exact=True)).to_be_disabled()
    guess(page, QUESTIONS[number].picture)
    keep(page, f"{number}-before")
    page.get_by_role("button", name="Check my guess", exact=True).press("Enter")
    expect(page.locator(".lesson .learned")).to_be_visible()
    expect(page.locator(".lesson .picture :is(.answer, .dot, .bars i)").first).to_be_visible()
    keep(page, f"{number}-after")
    assert "shown=1" in page.url
    box = lesson.bounding_box()
    assert box and box["y"] + box["height"] <= 860
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(FITS)
    keep(page, f"{number}-phone")
    page.reload()
    expect(page.locator(".lesson .learned")).to_be_visible()
    assert faults == []


ACTS = """panel => {
  const acts = [], choices = () => panel.querySelectorAll('.cells button, .options button');
  for (const slider of panel.querySelectorAll('input[type=range]')) {
    for (let step = 0; step <= 30; step += 1) {
      acts.push(() => {
        slider.value = String(+slider.min + (step / 30) * (slider.max - slider.min));
        slider.dispatchEvent(new Event('input'));
      });
    }
  }
  for (let round = 0; round < 5; round += 1) {
    choices().forEach((_, number) => acts.push(() => choices()[number].click()));
  }
  globalThis.testActs = acts;
  return acts.length;
}"""


def measure_acts(page: Page, panel: Locator) -> float:
    """Return the 95th percentile of the processor time of a change, in milliseconds."""
    thread, times = PageThread(page), []
    for number in range(panel.evaluate(ACTS)):
        before = thread.seconds()
        # Measuring and drawing take their share of the time once, not for each of the changes.
        page.evaluate(f"for (let turn = 0; turn < {TURNS}; turn += 1) testActs[{number}]()")
        times.append(1000 * (thread.seconds() - before) / TURNS)
    return sorted(times)[int(0.95 * (len(times) - 1))]


@pytest.mark.long
@pytest.mark.parametrize("number", QUESTIONS)
def test_explanation_opens_at_once_and_is_accessible(app: App, page: Page, number: int) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.emulate_media(color_scheme="dark" if number % 2 else "light")
    page.goto(f"{app('app.py')}/how_areas_work?q={number}&deep=1")
    panel = page.locator(".lesson .deep")
    expect(panel).to_be_visible()
    expect(page.locator(".lesson .learned")).to_be_visible()
    assert "{" not in panel.inner_text() and "NaN" not in panel.inner_text()
    settled(page)
    found = Axe().run(page, context="[data-testid=stMain]").response["violations"]
    assert [one["id"] for one in found] == []
    keep(page, f"{number}-deep")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(FITS)
    keep(page, f"{number}-deep-phone")
    milliseconds = measure_acts(page, panel)
    print(f"question {number}: {milliseconds:.1f} ms")
    assert milliseconds < 16
    assert faults == []
    page.get_by_role("button", name="Go deeper").press("Enter")
    expect(panel).to_be_hidden()
    assert "deep" not in page.url


@pytest.mark.long
@pytest.mark.parametrize(
    ("anchor", "number"),
    [("grid", 2), ("hard-choice", 11), ("rounding", 9)],
)
def test_old_address_opens_the_right_question(
    app: App, page: Page, anchor: str, number: int
) -> None:
    page.goto(f"{app('app.py')}/how_areas_work#{anchor}")
    expect(page.locator(".lesson .count")).to_contain_text(f"Question {number} ")
    expect(page.locator(".lesson .deep")).to_be_visible()


@pytest.mark.long
def test_all_questions_are_listed(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work")
    links = page.locator(".index .list a")
    expect(links).to_have_count(len(QUESTIONS))
    links.nth(2).click()
    expect(page.locator(".lesson .count")).to_contain_text("Question 3 ")


def test_next_and_back_need_no_server(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1&shown=1&lang=en")
    count, after = page.locator(".lesson .count"), page.locator(".lesson .after")
    expect(after).to_be_visible()
    settled(page)
    page.evaluate("window.isSamePage = true")
    times = []
    for number in range(2, len(QUESTIONS) + 1):
        times.append(page.evaluate(TIMED))
        expect(count).to_contain_text(f"Question {number} ")
        expect(after).to_be_hidden()
        expect(page.locator(".lesson .question")).to_be_focused()
        page.get_by_role("button", name="I don’t know, show me").press("Enter")
    print(f"next: {median(times):.0f} ms, at most {max(times):.0f} ms")
    # Other programs of a busy machine may interrupt some of them.
    assert median(times) < MOST_TO_NEXT
    page.go_back()
    expect(count).to_contain_text("Question 12 ")
    expect(after).to_be_visible()
    page.get_by_role("link", name="All questions").click()
    expect(page.locator(".index .list a")).to_have_count(len(QUESTIONS))
    settled(page)
    assert page.evaluate("window.isSamePage") and page.url.endswith("/how_areas_work?lang=en")


MOST_TO_NEXT = 1000
"""The usual time in ms from a press of Next to the picture of the next question is below this."""
TIMED = """() => {
  const start = performance.now();
  const hosts = [...document.querySelectorAll('*')].filter((one) => one.shadowRoot);
  const root = hosts.map((one) => one.shadowRoot).find((one) => one.querySelector('.lessons'));
  root.querySelector('.ways .main').click();
  const height = root.querySelector('.lesson .picture').offsetHeight;
  return height > 0 ? performance.now() - start : Infinity;
}"""
"""Presses Next, and returns the time until the next picture has its place in the page."""


def test_guess_survives_visits_to_other_questions(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1")
    words = page.locator(".lesson .picture button")
    words.nth(1).click()
    page.get_by_role("button", name="Check my guess", exact=True).click()
    page.get_by_role("link", name="Next question").click()
    page.get_by_role("link", name="Back").click()
    expect(words.nth(1)).to_have_class(re.compile("guess"))
    expect(page.locator(".lesson .after")).to_be_visible()
    assert "shown=1" in page.url


def test_whole_path_works_by_keyboard_alone(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1&lang=en")
    expect(page.locator(".lesson[data-ready]")).to_be_visible()
    settled(page)
    for number, question in QUESTIONS.items():
        expect(page.locator(".lesson .count")).to_contain_text(f"Question {number} ")
        sliders = page.locator(".lesson .picture input").count()
        is_moved = question.picture == "marks"
        tab_to(page, lambda focused: focused["isInPicture"])
        for _ in range({"marks": sliders, "order": 4}.get(question.picture, 1)):
            page.keyboard.press("ArrowRight" if is_moved else "Enter")
            page.keyboard.press("Tab")
        if page.evaluate(FOCUSED)["text"] != "Check my guess":
            tab_to(page, lambda focused: focused["text"] == "Check my guess")
        page.keyboard.press("Enter")
        expect(page.locator(".lesson .after")).to_be_visible()
        if number < len(QUESTIONS):
            # Next has the focus now.
            page.keyboard.press("Enter")


FOCUSED = """() => {
  let one = document.activeElement;
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  return { text: one?.textContent.trim() ?? '', isInPicture: Boolean(one?.closest('.picture')) };
}"""


def tab_to(page: Page, is_there: Callable[[Mapping[str, Any]], bool]) -> None:
    """Press Tab until what has the focus is wanted."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if is_there(page.evaluate(FOCUSED)):
            return
    pytest.fail("The keyboard does not reach it.")


def test_language_change_keeps_the_question(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1&shown=1&lang=en")
    page.get_by_role("link", name="Next question").click()
    settled(page)
    page.get_by_role("button", name="Deutsch", exact=True).click()
    expect(page.locator(".lesson .count")).to_contain_text("Frage 2 von")
    expect(page.locator(".lesson .after")).to_be_hidden()
    page.get_by_role("button", name="Weiß ich nicht, zeig es mir").click()
    page.get_by_role("link", name="Nächste Frage").click()
    expect(page.locator(".lesson .count")).to_contain_text("Frage 3 von")
    assert "q=3" in page.url and "lang=de" in page.url


@pytest.mark.parametrize("scheme", sampled(["light", "dark"], "dark"))
@pytest.mark.parametrize("width", sampled([1280, 390], 390))
def test_questions_answers_and_explanations_are_accessible(
    app: App, page: Page, width: int, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 860})
    page.goto(f"{app('app.py')}/how_areas_work?q=1")
    expect(page.locator(".lesson[data-ready]")).to_be_visible()
    settled(page)
    found = {}
    for number in QUESTIONS:
        expect(page.locator(".lesson .count")).to_contain_text(f"Question {number} ")
        guess(page, QUESTIONS[number].picture)
        found[number, "question"] = violations(page)
        keep(page, f"{number}-before-{width}-{scheme}")
        page.get_by_role("button", name="Check my guess", exact=True).click()
        found[number, "answer"] = violations(page)
        keep(page, f"{number}-after-{width}-{scheme}")
        page.get_by_role("button", name="Go deeper").click()
        found[number, "explanation"] = violations(page)
        assert page.evaluate(FITS), number
        if number < len(QUESTIONS):
            page.get_by_role("link", name="Next question").click()
    assert {where: what for where, what in found.items() if what} == {}


def violations(page: Page) -> list[str]:
    """Return what axe finds in the content of the page."""
    # While the server answers, Streamlit fades what it may draw again.
    settled(page)
    expect(page.locator('[data-stale="true"]')).to_have_count(0)
    found = Axe().run(page, context="[data-testid=stMain]").response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]


def keep(page: Page, name: str) -> None:
    """Keep a screenshot where `AREAVIZ_SHOTS` asks for it."""
    folder = os.environ.get("AREAVIZ_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")

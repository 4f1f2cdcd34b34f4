"""The questions of the lessons in a browser: guess, reveal, address, size and keyboard."""

from __future__ import annotations

import os

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from areaviz.lessons.questions import QUESTIONS
from tests.browser.conftest import App, settled
from tests.sampled import sampled

pytestmark = pytest.mark.browser
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
def test_a_guess_by_keyboard_leads_to_the_answer(app: App, page: Page, number: int) -> None:
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


MEASURED = """async panel => {
  const times = [];
  // The faster of two: other programs of the machine interrupt one of them, seldom both.
  const timed = act => {
    const [one, other] = [0, 1].map(() => {
      const start = performance.now();
      act();
      return performance.now() - start;
    });
    times.push(Math.min(one, other));
  };
  const wait = () => new Promise(done => requestAnimationFrame(done));
  for (const slider of panel.querySelectorAll('input[type=range]')) {
    for (let step = 0; step <= 30; step += 1) {
      slider.value = String(+slider.min + (step / 30) * (slider.max - slider.min));
      timed(() => slider.dispatchEvent(new Event('input')));
      await wait();
    }
  }
  for (let round = 0; round < 5; round += 1) {
    for (const cell of [...panel.querySelectorAll('.cells button, .options button')]) {
      timed(() => cell.click());
    }
  }
  times.sort((one, other) => one - other);
  return times[Math.floor(0.95 * (times.length - 1))];
}"""


@pytest.mark.parametrize("number", sampled(QUESTIONS, 9))
def test_an_explanation_answers_at_once_and_axe_is_content(
    app: App, page: Page, number: int
) -> None:
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
    milliseconds = panel.evaluate(MEASURED)
    print(f"question {number}: {milliseconds:.1f} ms")
    assert milliseconds < 16
    assert faults == []
    page.get_by_role("button", name="Go deeper").press("Enter")
    expect(panel).to_be_hidden()
    assert "deep" not in page.url


@pytest.mark.parametrize(
    ("anchor", "number"),
    sampled([("grid", 2), ("hard-choice", 11), ("rounding", 9)], ("grid", 2), many=True),
)
def test_an_old_address_opens_the_right_question(
    app: App, page: Page, anchor: str, number: int
) -> None:
    page.goto(f"{app('app.py')}/how_areas_work#{anchor}")
    expect(page.locator(".lesson .count")).to_contain_text(f"Question {number} ")
    expect(page.locator(".lesson .deep")).to_be_visible()


def test_all_questions_are_listed(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work")
    links = page.locator(".index .list a")
    expect(links).to_have_count(len(QUESTIONS))
    links.nth(2).click()
    expect(page.locator(".lesson .count")).to_contain_text("Question 3 ")


def test_next_opens_the_next_question_without_its_answer(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/how_areas_work?q=1&shown=1")
    page.get_by_role("link", name="Next question").click()
    expect(page.locator(".lesson .count")).to_contain_text("Question 2")
    expect(page.locator(".lesson .after")).to_be_hidden()


def keep(page: Page, name: str) -> None:
    """Keep a screenshot where `AREAVIZ_SHOTS` asks for it."""
    folder = os.environ.get("AREAVIZ_SHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")

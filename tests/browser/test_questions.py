"""The questions of the lessons in a browser: guess, reveal, address, size and keyboard."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect

from areaviz.lessons.questions import QUESTIONS
from tests.browser.conftest import App

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


@pytest.mark.parametrize("number", QUESTIONS)
def test_a_guess_by_keyboard_leads_to_the_answer(app: App, page: Page, number: int) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(f"{app('app.py')}/how_areas_work?q={number}")
    lesson = page.locator(".lesson[data-ready]")
    expect(lesson).to_be_visible()
    expect(page.locator(".lesson .after")).to_be_hidden()
    expect(page.get_by_role("button", name="Show me", exact=True)).to_be_disabled()
    guess(page, QUESTIONS[number].picture)
    keep(page, f"{number}-before")
    page.get_by_role("button", name="Show me", exact=True).press("Enter")
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

"""The lessons on a phone: formulas, labels of pictures and choices stay inside their boxes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settled

pytestmark = pytest.mark.browser

OUTSIDE = """box => {
  const edge = box.getBoundingClientRect();
  const seen = [...box.querySelectorAll(
    '.katex-html .base, .js-plotly-plot text, [data-testid="stButtonGroup"] button')];
  return seen.filter(part => {
    const place = part.getBoundingClientRect();
    return place.width > 0 && (place.right > edge.right + 1 || place.left < edge.left - 1);
  }).map(part => part.textContent);
}"""


def test_a_lesson_stays_inside_its_box_on_a_phone(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app('app.py')}/how_areas_work")
    expect(page.get_by_role("heading", name="13. As printed, as implemented")).to_be_visible()
    settled(page)
    # With all six numbers, lesson 3 has its longest formula.
    chosen = page.get_by_role("slider", name="Chosen area").nth(2)
    chosen.press("End")
    expect(chosen).to_have_value("18")
    settled(page)
    lessons = page.locator("[class*='st-key-lesson-']")
    assert lessons.count() == 13
    outside: dict[int, list[str]] = {}
    for number in range(13):
        for words in lessons.nth(number).evaluate(OUTSIDE):
            outside.setdefault(number + 1, []).append(words)
    assert outside == {}

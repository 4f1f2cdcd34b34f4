"""Reason in a browser: the story is edited in the picture, and asked again without a fact."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, open_tab, settled

FOLD = 860


@pytest.fixture
def hops(app: App, page: Page) -> Locator:
    """Return the picture of the story that the page opens with."""
    page.set_viewport_size({"width": 1280, "height": FOLD})
    page.goto(f"{app('app.py')}/reason")
    drawn = page.locator(".hops[data-ready]")
    expect(drawn).to_have_count(1)
    settled(page)
    return drawn


def fact(page: Page, number: int) -> Locator:
    """Return the text of a fact, which can be edited."""
    return page.get_by_label(f"Text of fact {number}", exact=True)


def test_story_opens_with_a_needed_fact_highlighted(hops: Locator, page: Page) -> None:
    expect(hops.locator("[data-lit]")).to_contain_text("needed")
    expect(hops.locator("[data-lit]")).to_be_in_viewport(ratio=1)
    expect(hops.locator(".answer b")).to_have_text("kitchen")
    expect(hops.locator(".say")).to_contain_text("sure, and right.")
    box = hops.locator(".board").bounding_box()
    assert box is not None and box["y"] <= 260 and box["y"] + box["height"] <= 800
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    assert height <= 1000


@pytest.mark.long
def test_picture_has_every_hop_and_facts_do_not_attend(hops: Locator, page: Page) -> None:
    heads = hops.locator("thead th").all_text_contents()
    assert [head for head in heads if head.startswith("Hop")] == ["Hop 1", "Hop 2", "Hop 3"]
    expect(page.get_by_text("Facts is attended to")).to_have_count(0)


@pytest.mark.long
def test_path_connects_the_top_facts(hops: Locator) -> None:
    """Check that the path runs from the disc of 85 % to that of 84 %, and then to the answer."""
    ends = hops.evaluate(
        """root => {
          const path = root.querySelector('.way');
          const box = root.querySelector('.board').getBoundingClientRect();
          const middle = (disc) => {
            const { y, height } = disc.getBoundingClientRect();
            return y + height / 2 - box.top;
          };
          const discs = [...root.querySelectorAll('.disc')].filter((disc) => disc.textContent);
          const first = path.getPointAtLength(0);
          const last = path.getPointAtLength(path.getTotalLength());
          const numbers = discs.map((disc) => disc.textContent);
          return [numbers, first.y - middle(discs[0]), last.y - middle(discs.at(-1))];
        }"""
    )
    assert ends[0] == ["85", "100", "84"]
    assert ends[1] == pytest.approx(0, abs=1) and ends[2] == pytest.approx(0, abs=1)


@pytest.mark.long
def test_edited_fact_changes_the_answer(hops: Locator, page: Page) -> None:
    fact(page, 6).fill("Mary went back to the office.")
    fact(page, 6).press("Enter")
    expect(hops.locator(".answer b")).to_have_text("office")
    # The right answer of an edited story is unknown.
    expect(hops.locator(".say")).to_contain_text("Check it: 82 % of this model’s answers")
    expect(hops.locator(".mark")).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape("Mary+went+back+to+the+office.")))


@pytest.mark.long
def test_unread_answer_gives_a_warning(hops: Locator, page: Page) -> None:
    question = page.get_by_label("Question", exact=True)
    question.fill("Where is the milk?")
    question.press("Enter")
    expect(hops.locator(".say")).to_contain_text("Doubt it: no hop read most of a fact that names")


@pytest.mark.long
def test_fact_is_moved_added_and_removed(hops: Locator, page: Page) -> None:
    handle = page.get_by_role("button", name="Fact 7", exact=True)
    handle.press("Alt+ArrowUp")
    expect(fact(page, 6)).to_have_value("Sandra took the milk there.")
    settled(page)
    handle = page.get_by_role("button", name="Fact 6", exact=True)
    target = page.get_by_role("button", name="Fact 1", exact=True).bounding_box()
    assert target is not None
    handle.hover()
    page.mouse.down()
    page.mouse.move(target["x"] + 8, target["y"] + 8, steps=10)
    page.mouse.up()
    expect(fact(page, 1)).to_have_value("Sandra took the milk there.")
    settled(page)
    fact(page, 1).fill("")
    fact(page, 1).press("Enter")
    expect(hops.locator("tbody tr")).to_have_count(6)
    settled(page)
    page.get_by_role("button", name="Add a fact").click()
    fact(page, 7).fill("Mary travelled to the bathroom")
    fact(page, 7).press("Enter")
    expect(page).to_have_url(re.compile(re.escape("travelled+to+the+bathroom.+Where")))
    expect(fact(page, 7)).to_have_value("Mary travelled to the bathroom.")


@pytest.mark.long
def test_refused_edit_keeps_the_answer(hops: Locator, page: Page) -> None:
    for number in range(7, 0, -1):
        fact(page, number).evaluate("field => { field.value = ''; }")
    fact(page, 1).press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("The question has no facts")
    expect(hops.locator(".answer b")).to_have_text("kitchen")


@pytest.mark.long
def test_story_runs_without_a_fact_and_with_it_again(hops: Locator, page: Page) -> None:
    page.get_by_role("button", name="Try without fact 6").click()
    expect(hops).to_have_count(2)
    expect(hops.nth(1).locator(".answer b")).to_have_text("garden")
    expect(hops.nth(1).locator("tr.hidden")).to_contain_text("hidden")
    expect(hops.nth(0).locator(".answer b")).to_have_text("kitchen")
    settled(page)
    page.get_by_role("button", name="Put the hidden fact back").click()
    expect(hops).to_have_count(1)


@pytest.mark.long
def test_points_are_dragged_added_and_removed(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/reason?model=pointer-tour&text=100,100+900,100+900,900+100,900")
    drawn = page.locator(".points[data-ready]")
    expect(drawn.locator(".point")).to_have_count(4)
    settled(page)
    lit = drawn.locator("[data-lit]")
    expect(lit).to_have_count(1)
    drawn.get_by_label("Step 2:").click()
    expect(page).to_have_url(re.compile("items=2"))
    settled(page)
    drawn.locator("[data-point='0']").hover()
    page.mouse.down()
    drawn.locator("svg").hover(position={"x": 120, "y": 300})
    page.mouse.up()
    expect(page).not_to_have_url(re.compile(re.escape("text=100%2C100+")))
    settled(page)
    drawn.locator("svg").click(position={"x": 250, "y": 200})
    expect(drawn.locator(".point")).to_have_count(5)
    settled(page)
    drawn.locator("[data-point='4']").dblclick()
    expect(drawn.locator(".point")).to_have_count(4)


@pytest.mark.long
def test_tree_opens_at_a_phrase_and_follows_the_brackets(app: App, page: Page) -> None:
    sentence = "The+old+man+saw+a+dog+in+the+park+."
    page.goto(f"{app('app.py')}/reason?model=parser-boundary&text={sentence}")
    tree = page.locator(".tree[data-ready]")
    expect(tree.locator("[data-lit]")).to_have_text("noun phrase")
    expect(tree.locator(".say")).to_contain_text("“the park” as one area")
    expect(tree.locator(".word.taken")).to_have_text(["The", "the", "park"])
    brackets = open_tab(page, "As brackets", "brackets")
    brackets.locator("#query-3").click()
    expect(tree.locator(".place")).to_have_text("step 4 of 25")


@pytest.mark.long
def test_tree_fits_its_card_from_800_px_on(app: App, page: Page) -> None:
    for width in (800, 390):
        page.set_viewport_size({"width": width, "height": FOLD})
        page.goto(f"{app('app.py')}/reason?model=parser-boundary")
        scroller = page.locator(".tree[data-ready] .scroller")
        expect(scroller.locator("[data-lit]")).to_be_visible()
        free = scroller.evaluate("one => one.clientWidth - one.scrollWidth")
        assert width == 390 or free >= 0
        assert scroller.evaluate(_CUT) == []


_CUT = """scroller => {
  const svg = scroller.querySelector('svg').getBoundingClientRect();
  const drawn = [...scroller.querySelectorAll('.node rect, .later rect')];
  const boxes = drawn.map((one) => one.getBoundingClientRect());
  const meets = (one, other) => one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom;
  return boxes.filter((one, n) => one.left < svg.left || one.right > svg.right
    || boxes.slice(n + 1).some((other) => meets(one, other))).map((one) => [one.left, one.right]);
}"""
"""Returns the phrases that are cut or touch another one."""

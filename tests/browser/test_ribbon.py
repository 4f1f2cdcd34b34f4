"""The token ribbon in a real browser: everything here happens without the server but for what is
locked.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.interactive.ribbon_table import items_text, ribbon_table
from areaviz.trace.query import top_areas, words
from areaviz.trace.request import Focus
from tests import fakes
from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/ribbon_app.py"
IDLE = "Point at an item"


@pytest.fixture
def ribbons(app: App, page: Page) -> tuple[Locator, Locator]:
    """The regular and the area model's ribbon."""
    page.goto(app(SCRIPT))
    both = page.locator(".ribbon[data-ready]")
    expect(both).to_have_count(2)
    return both.nth(0), both.nth(1)


def point(ribbon: Locator, side: str, item: int) -> None:
    """Move the pointer onto an item."""
    ribbon.page.mouse.move(2, 2)
    box = ribbon.locator(f"#{side}-{item}").bounding_box()
    assert box is not None
    ribbon.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def sentence(ribbon: Locator) -> Locator:
    return ribbon.locator(".say")


def ink(ribbon: Locator, side: str) -> int:
    """How many points of a side's canvas are painted."""
    count = ribbon.locator(f"[data-side={side}] canvas").evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4"
        " == 3 && v).length"
    )
    return int(count)


def test_pointing_at_a_query_shows_every_heads_strongest_span(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    assert ink(area, "memory") == 0
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("“k” attends most to")
    trace = fakes.trace(layers=1)
    attention = trace.maps["encoder-decoder"]
    lines = area.locator(".legend li")
    expect(lines).to_have_count(4)
    for head in range(4):
        top = top_areas(attention, 0, head, 4, 1)[0]
        text = items_text(
            trace.fields["source"], range(top.area.left, top.area.left + top.area.width)
        )
        shown = (lines.nth(head).locator(".what").text_content() or "").replace("␣", " ")
        assert shown == f"“{text}”"
        assert lines.nth(head).locator(".share").text_content() == (
            f"{top.weight * 100:.0f} %" if top.weight >= 0.1 else f"{top.weight * 100:.1f} %"
        )
    assert ink(area, "memory") > 200


def test_leaving_clears_the_picture(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("attends")
    area.page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text(IDLE)
    assert ink(area, "memory") == 0


def test_pointing_at_a_memory_item_shows_who_attends_to_it(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    point(area, "memory", 3)
    expect(sentence(area)).to_contain_text("“m” is attended to most by")
    assert ink(area, "query") > 50


def test_the_other_ribbon_lights_up_the_same_characters(ribbons: tuple[Locator, Locator]) -> None:
    regular, area = ribbons
    point(area, "memory", 8)
    expect(sentence(regular)).to_contain_text("“d” is attended to")
    point(regular, "query", 0)
    expect(sentence(area)).to_contain_text("“E” attends most to")
    area.page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text(IDLE)


def test_a_click_locks_and_tells_the_server_and_escape_lets_go(
    ribbons: tuple[Locator, Locator],
) -> None:
    regular, area = ribbons
    point(area, "query", 4)
    page = area.page
    page.mouse.down()
    page.mouse.up()
    expect(
        page.get_by_text(
            "area has Selection(side='query', items=(4,), head=None, unit='item', areas='any',"
        )
    ).to_be_visible()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("“k” attends")
    expect(area.locator("#query-4")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(sentence(area)).to_contain_text(IDLE)
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()
    expect(sentence(regular)).to_contain_text(IDLE)


def test_a_second_click_unlocks(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(area.page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(
        area.page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()


def test_shift_click_averages_several(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    page = area.page
    point(area, "query", 4)
    page.mouse.down()
    page.mouse.up()
    point(area, "query", 6)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.up()
    page.keyboard.up("Shift")
    page.mouse.move(2, 2)
    expect(page.get_by_text("items=(4, 6)")).to_be_visible()
    expect(sentence(area)).to_contain_text("“k”, “e” attends most to")
    expect(sentence(area)).to_contain_text("on average over 2 characters")


def test_head_chips_switch_at_once_and_are_told(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    page = area.page
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("attends")
    area.get_by_role("button", name="Head 2").click()
    expect(area.locator(".caption")).to_contain_text("head 2 of 4")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=1, unit='item'")
    ).to_be_visible()
    point(area, "query", 4)
    assert area.locator(".legend .who").all_text_contents() == ["head 2"] * 4
    area.get_by_role("button", name="Head 4").click(modifiers=["Shift"])
    expect(area.locator(".caption")).to_contain_text("heads 2, 4 of 4")
    expect(page.get_by_text("area has Selection(side='query', items=(), head=None")).to_be_visible()
    assert area.locator(".legend .who").all_text_contents() == ["head 2", "head 4"]
    area.get_by_role("button", name="All heads").click()
    expect(area.locator(".caption")).to_contain_text("all heads")


def test_unit_and_areas_are_told_while_nothing_is_locked(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    area.get_by_role("button", name="Words").click()
    area.get_by_role("button", name="2+ characters").click()
    expect(
        area.page.get_by_text("items=(), head=None, unit='word', areas='several',")
    ).to_be_visible()


def test_pointing_asks_nothing_of_the_server(app: App, page: Page) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(app(SCRIPT))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    settled(page)
    before = len(sent)
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("attends")
    point(area, "memory", 3)
    expect(sentence(area)).to_contain_text("is attended to")
    assert len(sent) == before


def test_words_act_as_one_and_spans_snap_to_them(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    area.get_by_role("button", name="Words").click()
    point(area, "query", 6)
    expect(sentence(area)).to_contain_text("“kleiner” attends most to")
    words = fakes.SENTENCE.split()
    for text in area.locator(".legend .what").all_text_contents():
        parts = (
            text.strip("“”").replace("␣", " ").replace(" + ⟨end⟩", "").replace("⟨end⟩", "").split()
        )
        assert all(part in words for part in parts), text


def test_what_is_said_of_several_items_and_of_words_is_what_the_table_says(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    trace = fakes.trace(layers=1)
    area.get_by_role("button", name="Words").click()
    for side, name, item in (("query", "target", 6), ("memory", "source", 3)):
        point(area, side, item)
        expect(sentence(area)).to_contain_text("attend")
        run = next(range(*run) for run in words(trace.fields[name]) if item in range(*run))
        rows = ribbon_table(
            trace, Focus("encoder-decoder", side=side, items=tuple(run), unit="word")
        ).rows
        for head in range(4):
            heaviest = next(row for row in rows if row[1] == head + 1)
            told = heaviest[2 if side == "query" else 0]
            assert shown(area.locator(".legend .what").nth(head)) == f"“{told}”"
            share = area.locator(".legend .share").nth(head).text_content() or ""
            assert float(share.removesuffix("%")) == pytest.approx(
                100 * float(heaviest[5]), abs=0.5
            )


def test_what_was_not_sent_is_said(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_TIMES="60"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("attends most to")
    assert "at least" not in (sentence(area).text_content() or "")
    area.get_by_role("button", name="Words").click()
    point(area, "query", 6)
    expect(sentence(area)).to_contain_text("at least")
    expect(area.locator(".legend .share").first).to_contain_text("≥")


def shown(part: Locator) -> str:
    """What a part reads as, with blanks as they are."""
    return (part.text_content() or "").replace("␣", " ")


def test_areas_of_two_or_more_items_can_be_asked_for(ribbons: tuple[Locator, Locator]) -> None:
    regular, area = ribbons
    assert regular.locator(".areas button").count() == 0
    area.get_by_role("button", name="2+ characters").click()
    point(area, "query", 4)
    trace = fakes.trace(layers=1)
    lines = area.locator(".legend li")
    for head in range(4):
        top = top_areas(trace.maps["encoder-decoder"], 0, head, 4, 1, min_size=2)[0].area
        text = items_text(trace.fields["source"], range(top.left, top.left + top.width))
        assert (lines.nth(head).locator(".what").text_content() or "").replace(
            "␣", " "
        ) == f"“{text}”"
    area.page.mouse.down()
    area.page.mouse.up()
    expect(area.page.get_by_text("areas='several'")).to_be_visible()


def test_the_keyboard_moves_locks_and_lets_go(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    page = area.page
    area.get_by_role("button", name="Words").focus()
    page.keyboard.press("Tab")
    expect(sentence(area)).to_contain_text("“E” attends")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(sentence(area)).to_contain_text("“k” attends")
    expect(area.locator("[data-side=query] .scroller")).to_have_attribute(
        "aria-activedescendant", "query-4"
    )
    page.keyboard.press("End")
    expect(sentence(area)).to_contain_text("“⟨end⟩” attends")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    page.keyboard.press("Escape")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()
    expect(area.locator(".live")).to_contain_text("“E” attends")


def test_the_page_can_move_the_ribbon_and_it_survives_being_hidden(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    page = area.page
    page.get_by_role("button", name="Choose the fifth item").click()
    expect(sentence(area)).to_contain_text("“k” attends")
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    page.get_by_text("Show ribbons").click()
    expect(page.locator(".ribbon")).to_have_count(0)
    page.get_by_text("Show ribbons").click()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("“E” attends")


def test_a_click_sends_no_data_again(app: App, page: Page) -> None:
    received: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))),
    )
    page.goto(app(SCRIPT, RIBBON_TIMES="30"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    first = sum(received)
    received.clear()
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    assert sum(received) < 0.1 * first


def test_a_long_text_keeps_few_elements_and_shows_what_is_attended(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_TIMES="241", RIBBON_HEADS="1"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    assert (
        int(area.locator("[data-side=memory] .item").first.get_attribute("aria-setsize") or 0)
        > 4096
    )
    assert area.evaluate("root => root.querySelectorAll('*').length") < 5000
    trace = fakes.trace(fakes.SENTENCE * 241, layers=1, heads=1)
    start = top_areas(trace.maps["encoder-decoder"], 0, 0, 1, 1)[0].area.left
    assert start > 1000, "the example must attend to something that is not in view"
    point(area, "query", 1)
    page.mouse.down()
    page.mouse.up()
    expect(area.locator(f"#memory-{start}")).to_be_visible()
    assert area.evaluate("root => root.querySelectorAll('*').length") < 5000


def test_right_to_left_marks_and_breaks(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_SOURCE="שלום עולם", RIBBON_TARGET="a\u0301b\nc <b>d</b>"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    texts = area.locator("[data-side=query] .item").all_text_contents()
    assert texts[:6] == ["a", "◌\u0301", "b", "↵", "c", "␣"] and "<" in texts
    first, second = (area.locator(f"#memory-{i}").bounding_box() for i in (0, 1))
    assert first and second and first["x"] > second["x"]
    area.get_by_role("button", name="Words").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(sentence(area)).to_contain_text("“ל” is attended to")

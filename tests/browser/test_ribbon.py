"""The token ribbon in a real browser: only locked items are sent to the server."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.trace.query import find_words, top_areas
from areaviz.trace.request import Focus
from areaviz.views.message import choose_first_item
from areaviz.views.ribbon.table import join_items, tabulate_ribbon
from tests import fakes
from tests.browser.conftest import App, settled
from tests.browser.more import choose_more

SCRIPT = "tests/browser/ribbon_app.py"
LIT = "“E”"
"""The item that is shown without pointing: `choose_first_item` chooses it."""


@pytest.fixture
def ribbons(app: App, page: Page) -> tuple[Locator, Locator]:
    """Open the ribbons of the regular and the area model."""
    page.goto(app(SCRIPT))
    both = page.locator(".ribbon[data-ready]")
    expect(both).to_have_count(2)
    return both.nth(0), both.nth(1)


def point(ribbon: Locator, side: str, item: int) -> None:
    """Move the pointer to an item."""
    ribbon.page.mouse.move(2, 2)
    box = ribbon.locator(f"#{side}-{item}").bounding_box()
    assert box is not None
    ribbon.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def sentence(ribbon: Locator) -> Locator:
    return ribbon.locator(".say")


def bars(ribbon: Locator) -> int:
    """Return how many bars are drawn."""
    return ribbon.locator(".threads .band").count()


def tinted(ribbon: Locator, side: str) -> int:
    """Return how many items of a side are tinted."""
    items = ribbon.locator(f"[data-side={side}] .item")
    script = "all => all.filter(e => parseInt(e.style.getPropertyValue('--depth'))).length"
    return int(items.evaluate_all(script))


def test_hover_over_query_shows_strongest_span_of_every_head(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    point(area, "query", 5)
    expect(sentence(area)).to_contain_text("To write “l”,")
    trace = fakes.trace(layers=1)
    attention = trace.maps["encoder-decoder"]
    lines = area.locator(".legend li")
    expect(lines).to_have_count(4)
    for head in range(4):
        top = top_areas(attention, 0, head, 5, 1)[0]
        text = join_items(
            trace.fields["source"], range(top.area.left, top.area.left + top.area.width)
        )
        shown = (lines.nth(head).locator(".what").text_content() or "").replace("␣", " ")
        assert shown == f"“{text}”"
        assert lines.nth(head).locator(".share").text_content() == (
            f"{top.weight * 100:.0f} %" if top.weight >= 0.1 else f"{top.weight * 100:.1f} %"
        )
    assert bars(area) >= 4 and area.locator(".threads .thread").count() == 4
    assert tinted(area, "memory") > 0 and tinted(area, "query") == 0


@pytest.mark.long
def test_thread_is_as_thick_as_its_weight(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    attention = fakes.trace(layers=1).maps["encoder-decoder"]
    point(area, "query", 5)
    expect(sentence(area)).to_contain_text("“l”")
    weights = sorted(top_areas(attention, 0, head, 5, 1)[0].weight for head in range(4))
    threads = area.locator(".threads .thread").all()
    widths = sorted(float(one.get_attribute("stroke-width") or 0) for one in threads)
    assert widths == pytest.approx([max(2.5, 12 * weight) for weight in weights], abs=0.01)


@pytest.mark.long
def test_sideways_threads_turn_at_different_heights(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    point(area, "query", 0)
    threads = area.locator(".threads .thread").evaluate_all(
        "all => all.map(one => one.getAttribute('d').match(/-?[0-9.]+/g).map(Number))"
    )
    sideways = sum(numbers[0] - numbers[6] for numbers in threads)
    turns = [numbers[3] for numbers in threads]
    assert abs(sideways) > 1 and len(set(turns)) == len(turns) == 4


def test_lighter_areas_of_a_single_head_are_paler(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    area.locator(".legend [data-head='1']").click()
    point(area, "query", 5)
    expect(area.locator(".hint")).to_contain_text("Pale bars are areas with less attention.")
    script = "all => all.map(one => Number(getComputedStyle(one).strokeOpacity))"
    opacities = area.locator(".threads .band").evaluate_all(script)
    # The heaviest bar is drawn last, on top of the other ones.
    assert len(opacities) > 1 and opacities[-1] == 1 and max(opacities[:-1]) < 0.8
    assert area.locator(".threads .edge").count() == 1
    area.get_by_role("button", name="All heads").click()
    expect(area.locator(".hint")).not_to_contain_text("Pale bars")


def test_ribbon_opens_with_a_word_highlighted_and_returns_to_it(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    trace = fakes.trace(layers=1)
    (item,) = choose_first_item(trace.maps["encoder-decoder"], 0, trace.fields["target"])
    lit = area.locator("[data-lit]")
    expect(lit).to_have_id(f"query-{item}")
    expect(sentence(area)).to_contain_text(f"To write {LIT}")
    assert area.locator("[aria-selected=true]").count() == 0
    point(area, "query", 4)
    expect(lit).to_have_id("query-4")
    area.page.mouse.move(2, 2)
    expect(lit).to_have_id(f"query-{item}")
    assert bars(area) >= 4


@pytest.mark.long
def test_seams_are_drawn_only_between_tokens(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_TOKENS="1"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area.locator(".item.seam").first).to_be_visible()
    choose_more(area, "Words")
    expect(area.locator(".item.seam")).to_have_count(0)


@pytest.mark.long
def test_chips_fill_the_width(app: App, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    page.goto(app(SCRIPT, RIBBON_SOURCE="A small dog runs across the wet grass."))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    inner = area.bounding_box()
    boxes = [item.bounding_box() for item in area.locator("[data-side=memory] .item").all()]
    right = max(box["x"] + box["width"] for box in boxes if box)
    assert inner and right - inner["x"] >= 0.85 * inner["width"]


@pytest.mark.long
def test_only_three_of_many_heads_are_drawn_first(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_HEADS="16"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area.locator(".threads .thread")).to_have_count(3)
    expect(area.locator(".legend li")).to_have_count(16)
    colours = area.locator(".legend .swatch").evaluate_all(
        "all => all.map(one => one.className + getComputedStyle(one).getPropertyValue('--head'))"
    )
    assert len(set(colours)) == 16
    expect(area.locator(".hint")).to_contain_text("Bars show the three heads")
    area.get_by_role("button", name="Head 16").click()
    expect(area.get_by_role("button", name="Head 16")).to_have_attribute("aria-pressed", "true")
    expect(area.get_by_role("button", name="Head 15")).to_have_attribute("aria-pressed", "false")
    area.get_by_role("button", name="Head 15").click()
    expect(area.locator(".threads .thread")).to_have_count(2)
    expect(area.locator(".hint")).not_to_contain_text("Bars show")


@pytest.mark.long
def test_hover_over_memory_item_shows_attending_items(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    point(area, "memory", 3)
    expect(sentence(area)).to_contain_text("“m” receives most attention from")
    assert bars(area) >= 4 and tinted(area, "query") > 0 and tinted(area, "memory") == 0


@pytest.mark.long
def test_linked_ribbon_highlights_same_characters(ribbons: tuple[Locator, Locator]) -> None:
    regular, area = ribbons
    point(area, "memory", 8)
    expect(sentence(regular)).to_contain_text("“d” receives")
    point(regular, "query", 4)
    expect(sentence(area)).to_contain_text("To write “k”")
    area.page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text(LIT)


def test_click_locks_and_reports_and_escape_unlocks(
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
    expect(sentence(area)).to_contain_text("To write “k”")
    expect(area.locator("#query-4")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(sentence(area)).to_contain_text(LIT)
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()
    expect(area.locator("#query-4")).to_have_attribute("aria-selected", "false")
    expect(regular.locator("#query-4[data-lit]")).to_have_count(0)


@pytest.mark.long
def test_second_click_unlocks(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(area.page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(
        area.page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()


@pytest.mark.long
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
    expect(sentence(area)).to_contain_text("To write “k” and “e”,")
    expect(sentence(area)).to_contain_text("on average over 2 characters")


@pytest.mark.long
def test_head_chips_switch_at_once_and_are_announced(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    page = area.page
    point(area, "query", 4)
    area.get_by_role("button", name="Head 2").click()
    expect(area.locator(".caption")).to_contain_text("head 2 of 4")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=1, unit='item'")
    ).to_be_visible()
    point(area, "query", 4)
    assert pressed(area) == ["Head 2"]
    expect(area.locator(".legend .ranked")).to_have_count(3)
    expect(sentence(area)).to_contain_text("head 2 attends most to")
    area.get_by_role("button", name="Head 4").click(modifiers=["Shift"])
    expect(area.locator(".caption")).to_contain_text("heads 2, 4 of 4")
    expect(page.get_by_text("area has Selection(side='query', items=(), head=None")).to_be_visible()
    assert pressed(area) == ["Head 2", "Head 4"]
    area.get_by_role("button", name="All heads").click()
    expect(area.locator(".caption")).to_contain_text("all heads")
    expect(area.get_by_role("button", name="All heads")).to_have_count(0)
    assert len(pressed(area)) == 4


def pressed(ribbon: Locator) -> list[str]:
    """Return the names of the heads that are shown."""
    return ribbon.locator(".legend [aria-pressed=true] .who").all_text_contents()


@pytest.mark.long
def test_unit_and_areas_are_reported_without_a_lock(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    choose_more(area, "Words")
    choose_more(area, "2+ characters")
    expect(
        area.page.get_by_text("items=(), head=None, unit='word', areas='several',")
    ).to_be_visible()


@pytest.mark.long
def test_hover_sends_no_request(app: App, page: Page) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(app(SCRIPT))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    settled(page)
    before = len(sent)
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("To write")
    point(area, "memory", 3)
    expect(sentence(area)).to_contain_text("receives most")
    assert len(sent) == before


@pytest.mark.long
def test_words_act_as_units_and_spans_snap_to_them(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    choose_more(area, "Words")
    point(area, "query", 6)
    expect(sentence(area)).to_contain_text("To write “kleiner”,")
    words = fakes.SENTENCE.split()
    for text in area.locator(".legend .what").all_text_contents():
        parts = (
            text.strip("“”").replace("␣", " ").replace(" ⟨end⟩", "").replace("⟨end⟩", "").split()
        )
        assert all(part in words for part in parts), text


@pytest.mark.long
def test_sentences_on_items_and_words_match_the_table(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    trace = fakes.trace(layers=1)
    choose_more(area, "Words")
    for side, name, item in (("query", "target", 6), ("memory", "source", 3)):
        point(area, side, item)
        expect(sentence(area)).to_contain_text("atten")
        run = next(range(*run) for run in find_words(trace.fields[name]) if item in range(*run))
        rows = tabulate_ribbon(
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


@pytest.mark.long
def test_missing_data_is_reported(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_TIMES="60"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    point(area, "query", 4)
    expect(sentence(area)).to_contain_text("To write “k”")
    assert "≥" not in "".join(area.locator(".legend .share").all_text_contents())
    choose_more(area, "Words")
    point(area, "query", 6)
    expect(area.locator(".legend .share").first).to_contain_text("≥")
    area.get_by_role("button", name="Head 1", exact=False).first.click()
    point(area, "query", 6)
    expect(sentence(area)).to_contain_text("at least")


def shown(part: Locator) -> str:
    """Return the text of a part with its spaces."""
    return (part.text_content() or "").replace("␣", " ")


@pytest.mark.long
def test_control_limits_areas_to_several_items(ribbons: tuple[Locator, Locator]) -> None:
    regular, area = ribbons
    assert regular.locator(".areas button").count() == 0
    choose_more(area, "2+ characters")
    point(area, "query", 4)
    trace = fakes.trace(layers=1)
    lines = area.locator(".legend li")
    for head in range(4):
        top = top_areas(trace.maps["encoder-decoder"], 0, head, 4, 1, min_size=2)[0].area
        text = join_items(trace.fields["source"], range(top.left, top.left + top.width))
        assert (lines.nth(head).locator(".what").text_content() or "").replace(
            "␣", " "
        ) == f"“{text}”"
    area.page.mouse.down()
    area.page.mouse.up()
    expect(area.page.get_by_text("areas='several'")).to_be_visible()


def test_keyboard_moves_locks_and_unlocks(ribbons: tuple[Locator, Locator]) -> None:
    _, area = ribbons
    page = area.page
    area.locator("[data-side=query] .scroller").focus()
    page.keyboard.press("Home")
    expect(sentence(area)).to_contain_text("To write “E”")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(sentence(area)).to_contain_text("To write “k”")
    expect(area.locator("[data-side=query] .scroller")).to_have_attribute(
        "aria-activedescendant", "query-4"
    )
    page.keyboard.press("End")
    expect(sentence(area)).to_contain_text("To write “⟨end⟩”")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    page.keyboard.press("Escape")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()
    expect(area.locator(".live")).to_contain_text("To write “E”")
    expect(area.locator(".live")).to_contain_text("Head 4:")
    page.keyboard.press("Escape")
    expect(sentence(area)).to_contain_text(LIT)


@pytest.mark.long
def test_ribbon_follows_page_and_survives_hiding(
    ribbons: tuple[Locator, Locator],
) -> None:
    _, area = ribbons
    page = area.page
    page.get_by_role("button", name="Choose the fifth item").click()
    expect(sentence(area)).to_contain_text("To write “k”")
    area.locator("[data-side=query] .scroller").click(position={"x": 5, "y": 12})
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    page.get_by_text("Show ribbons").click()
    expect(page.locator(".ribbon")).to_have_count(0)
    page.get_by_text("Show ribbons").click()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("To write “E”")


@pytest.mark.long
def test_click_sends_no_data_again(app: App, page: Page) -> None:
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


@pytest.mark.long
def test_long_text_has_few_elements_and_shows_attention(app: App, page: Page) -> None:
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


@pytest.mark.long
def test_right_to_left_marks_and_breaks(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, RIBBON_SOURCE="שלום עולם", RIBBON_TARGET="a\u0301b\nc <b>d</b>"))
    area = page.locator(".ribbon[data-ready]").nth(1)
    expect(area).to_be_visible()
    texts = area.locator("[data-side=query] .item").all_text_contents()
    assert texts[:6] == ["a", "◌\u0301", "b", "↵", "c", "␣"] and "<" in texts
    first, second = (area.locator(f"#memory-{i}").bounding_box() for i in (0, 1))
    assert first and second and first["x"] > second["x"]
    area.locator("[data-side=query] .scroller").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(sentence(area)).to_contain_text("“ל” receives")

"""The image grid in a real browser: only locked items are sent to the server."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.trace.areas import Area, format_area
from areaviz.trace.query import item_shares, top_areas
from areaviz.trace.record import Trace
from tests import fakes
from tests.browser.conftest import App
from tests.browser.more import choose_more, fill_more

SCRIPT = "tests/browser/grid_app.py"
LIT = "To write “red”"
"""The start of the sentence that a grid shows when it opens."""


@pytest.fixture
def grids(app: App, page: Page) -> tuple[Locator, Locator]:
    """Open two grids of a caption: one with hard and one with soft attention to a picture."""
    return opened(page, app(SCRIPT))


@pytest.fixture
def selves(app: App, page: Page) -> tuple[Locator, Locator]:
    """Open two grids of pictures with self-attention."""
    return opened(page, app(SCRIPT, GRID_SITE="encoder self"))


def opened(page: Page, url: str) -> tuple[Locator, Locator]:
    page.goto(url)
    both = page.locator(".grid[data-ready]")
    expect(both).to_have_count(2)
    return both.nth(0), both.nth(1)


def soft() -> Trace:
    """Return the trace that the second grid of the page shows."""
    return fakes.caption_trace(area_size=3, layers=1)


def middle(grid: Locator, side: str, item: int) -> tuple[float, float]:
    box = grid.locator(f"#{side}-{item}:visible").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def point(grid: Locator, side: str, item: int) -> None:
    """Move the pointer to an item."""
    grid.locator(f"#{side}-{item}:visible").scroll_into_view_if_needed()
    grid.page.mouse.move(2, 2)
    grid.page.mouse.move(*middle(grid, side, item))


def click(grid: Locator, side: str, item: int) -> None:
    point(grid, side, item)
    grid.page.mouse.down()
    grid.page.mouse.up()


def sentence(grid: Locator) -> Locator:
    return grid.locator(".say")


def ink(grid: Locator, side: str) -> int:
    """Return how many pixels of the highlight over a side's picture are not transparent."""
    canvas = grid.locator(f"[data-side={side}][data-kind=picture] .above")
    count = canvas.evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4"
        " == 3 && v).length"
    )
    return int(count)


def places_of_head(grid: Locator, head: int) -> list[str]:
    """Return the places that the legend lists for a single head, the heaviest first."""
    lines = grid.locator(f".legend [data-head='{head}'], .legend .ranked")
    return [text for text in lines.locator(".what").all_text_contents() if text]


def colour_at(grid: Locator, layer: str, cell: int) -> list[int]:
    """Return red, green and blue in the middle of a memory cell.

    The layer is the picture ("below") or the highlight ("above").
    """
    canvas = grid.locator(f"[data-side=memory] .{layer}")
    box, (x, y) = canvas.bounding_box(), middle(grid, "memory", cell)
    assert box is not None
    at = [(x - box["x"]) / box["width"], (y - box["y"]) / box["height"]]
    read = (
        "(c, [x, y]) => [...c.getContext('2d').getImageData(x * c.width, y * c.height, 1,"
        " 1).data.slice(0, 3)]"
    )
    return [int(value) for value in canvas.evaluate(read, at)]


def test_hover_over_word_shows_strongest_area_of_every_head(
    grids: tuple[Locator, Locator],
) -> None:
    _, area = grids
    point(area, "query", 2)
    expect(sentence(area)).to_contain_text("To write “red”")
    attention = soft().maps["encoder-decoder"]
    lines = area.locator(".legend li")
    expect(lines).to_have_count(4)
    for head in range(4):
        top = top_areas(attention, 0, head, 2, 1)[0]
        assert lines.nth(head).locator(".what").text_content() == format_area(top.area)
        shown = f"{top.weight * 100:.0f} %" if top.weight >= 0.1 else f"{top.weight * 100:.1f} %"
        assert lines.nth(head).locator(".share").text_content() == shown
    assert ink(area, "memory") > 500
    point(area, "query", 0)
    expect(sentence(area)).to_contain_text("To write “a”")
    area.page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text(LIT)
    assert ink(area, "memory") > 500


def test_rows_and_columns_are_numbered_at_their_cells(grids: tuple[Locator, Locator]) -> None:
    _, area = grids
    point(area, "query", 2)
    side = area.locator("[data-side=memory]")
    for ruler, axis, step in ((".across", 0, 1), (".down", 1, 4)):
        numbers = side.locator(f"{ruler} span")
        expect(numbers).to_have_text(["1", "2", "3", "4"])
        for place in range(4):
            box = numbers.nth(place).bounding_box()
            assert box is not None
            centre = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)[axis]
            assert abs(centre - middle(area, "memory", place * step)[axis]) < 12
    attention = soft().maps["encoder-decoder"]
    tops = [top_areas(attention, 0, head, 2, 1)[0] for head in range(4)]
    top = max(tops, key=lambda one: one.weight).area
    rows = range(top.top + 1, top.top + top.height + 1)
    expect(side.locator(".down .found")).to_have_text([str(row) for row in rows])


@pytest.mark.long
def test_picture_and_heat_map_are_aligned(
    grids: tuple[Locator, Locator],
) -> None:
    _, area = grids
    trace = soft()
    picture, cells = trace.request.picture, trace.fields["picture"].anchors
    assert picture is not None
    left, top, right, bottom = cells[0].tolist()
    np.testing.assert_allclose(
        colour_at(area, "below", 0),
        picture.pixels[(top + bottom) // 2, (left + right) // 2],
        atol=6,
    )
    fill_more(area, ".strength", "100")
    shares = np.mean(
        [item_shares(trace.maps["encoder-decoder"], 0, head)[3] for head in range(4)], 0
    )
    most = int(shares.argmax())
    fill_more(area, ".many", "1")
    point(area, "query", 3)
    least = colour_at(area, "above", int(shares.argmin()))
    np.testing.assert_allclose(least, (28, 39, 43), atol=6)
    choose_more(area, "Heat map")
    point(area, "query", 3)
    expect(area.locator(".most")).to_contain_text(
        f"{shares.max() * 100:.0f} %" if shares.max() >= 0.1 else f"{shares.max() * 100:.1f} %"
    )
    np.testing.assert_allclose(
        colour_at(area, "above", most), (253, 231, 37), atol=6
    )  # the maximum of viridis
    choose_more(area, "Heat map")
    point(area, "query", 3)
    expect(area.locator(".scale")).to_have_class("scale idle")


@pytest.mark.long
def test_hover_over_cell_shows_attending_words(grids: tuple[Locator, Locator]) -> None:
    _, area = grids
    point(area, "memory", 5)
    trace = soft()
    shares = [item_shares(trace.maps["encoder-decoder"], 0, head)[:, 5] for head in range(4)]
    head = int(np.argmax([share.max() for share in shares]))
    word = trace.fields["target"].labels[int(shares[head].argmax())]
    expect(sentence(area)).to_contain_text(
        f"Row 2, column 2 is attended to most by “{word}” (head {head + 1},"
    )
    assert area.locator(".chip .swatch").count() == 4


@pytest.mark.long
def test_hard_attention_names_the_read_area(grids: tuple[Locator, Locator]) -> None:
    hard, _ = grids
    attention = fakes.caption_trace(area_size=1, layers=1, hard=True).maps["encoder-decoder"]
    assert attention.chosen is not None
    point(hard, "query", 1)
    expect(sentence(hard)).to_contain_text("“small” reads row")
    for head in range(4):
        read = format_area(attention.grid.area(int(attention.chosen[0, head, 1])))
        assert hard.locator(".legend .what").nth(head).text_content() == f"read: {read}"


@pytest.mark.long
def test_linked_grid_highlights_same_word_and_cells(grids: tuple[Locator, Locator]) -> None:
    hard, area = grids
    point(area, "query", 3)
    expect(sentence(hard)).to_contain_text("“circle” reads")
    expect(hard.locator("#query-3:visible")).to_have_class(re.compile("pointed"))
    point(hard, "memory", 6)
    expect(sentence(area)).to_contain_text("Row 2, column 3 is attended to")
    area.page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text(LIT)


def test_click_locks_and_reports_and_escape_unlocks(
    grids: tuple[Locator, Locator],
) -> None:
    _, area = grids
    click(area, "query", 2)
    page = area.page
    expect(
        page.get_by_text(
            "area has Selection(side='query', items=(2,), head=None, unit='item', areas='any',"
        )
    ).to_be_visible()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("To write “red”")
    expect(area.locator("#query-2:visible")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(area.locator("#query-2:visible")).to_have_attribute("aria-selected", "false")
    expect(sentence(area)).to_contain_text(LIT)
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()


@pytest.mark.long
def test_second_click_unlocks_and_shift_adds(grids: tuple[Locator, Locator]) -> None:
    _, area = grids
    page = area.page
    click(area, "query", 1)
    page.keyboard.down("Shift")
    click(area, "query", 3)
    page.keyboard.up("Shift")
    expect(page.get_by_text("items=(1, 3)")).to_be_visible()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("on average over 2 items")
    click(area, "query", 1)
    expect(page.get_by_text("area has Selection(side='query', items=(1,)")).to_be_visible()
    click(area, "query", 1)
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()


@pytest.mark.long
def test_drag_over_cells_requests_their_mean(selves: tuple[Locator, Locator]) -> None:
    _, area = selves
    page = area.page
    point(area, "query", 0)
    expect(sentence(area)).to_contain_text("For row 1, column 1, head")
    page.mouse.down()
    page.mouse.move(*middle(area, "query", 5), steps=4)
    page.mouse.up()
    expect(page.get_by_text("items=(0, 1, 4, 5)")).to_be_visible()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("Rows 1-2, columns 1-2 attend most to")
    expect(sentence(area)).to_contain_text("mean of 4")
    attention = soft().maps["encoder self"]
    mean_HA = attention.weights[0][:, [0, 1, 4, 5]].mean(1)
    head = int(mean_HA.max(1).argmax())
    expect(sentence(area)).to_contain_text(
        format_area(attention.grid.area(int(mean_HA[head].argmax())))
    )


@pytest.mark.long
def test_mean_of_incomplete_data_says_at_least(
    selves: tuple[Locator, Locator],
) -> None:
    _, area = selves
    point(area, "query", 0)
    expect(sentence(area)).not_to_contain_text("at least")
    area.page.mouse.down()
    area.page.mouse.move(*middle(area, "query", 7), steps=4)
    expect(sentence(area)).to_contain_text("mean of 8")
    told = re.search(r"head (\d), at least ([\d.]+)\s%", sentence(area).inner_text())
    assert told
    mean_A = soft().maps["encoder self"].weights[0][int(told[1]) - 1, :8].mean(0)
    assert 0.9 * mean_A.max() < float(told[2]) / 100 < mean_A.max()
    area.page.mouse.up()


@pytest.mark.long
def test_cell_of_right_picture_shows_attending_cells(
    selves: tuple[Locator, Locator],
) -> None:
    _, area = selves
    before = ink(area, "query")
    point(area, "memory", 10)
    expect(sentence(area)).to_contain_text("Row 3, column 3 is attended to most by row")
    assert ink(area, "query") > 500 and ink(area, "query") != before


@pytest.mark.long
def test_sliders_need_no_server_and_head_chips_are_reported(app: App, page: Page) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    _, area = opened(page, app(SCRIPT))
    point(area, "query", 2)
    expect(area).to_have_attribute("data-marks", "8")
    before = len(sent)
    fill_more(area, ".many", "3")
    point(area, "query", 2)
    expect(area).to_have_attribute("data-marks", "12")
    assert len(sent) == before
    area.get_by_role("button", name="Head 2").click()
    expect(area.locator(".caption")).to_contain_text("head 2 of 4")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=1, unit='item'")
    ).to_be_visible()
    point(area, "query", 2)
    expect(area).to_have_attribute("data-marks", "3")
    attention = soft().maps["encoder-decoder"]
    expected = [format_area(top.area) for top in top_areas(attention, 0, 1, 2, 4)]
    assert places_of_head(area, 1) == expected
    # The legend lists the heads that are not drawn, too.
    others = [top_areas(attention, 0, head, 2, 1)[0].area for head in (0, 2, 3)]
    for head, other in zip((0, 2, 3), others, strict=True):
        row = area.locator(f".legend [data-head='{head}'] .what")
        expect(row).to_have_text(format_area(other))


@pytest.mark.long
@pytest.mark.parametrize("percent", [0, 25, 75, 100])
def test_control_sets_allowed_overlap(grids: tuple[Locator, Locator], percent: int) -> None:
    _, area = grids
    expect(area.locator(".overlap")).to_have_value("50")
    area.get_by_role("button", name="Head 2").click()
    fill_more(area, ".overlap", str(percent))
    fill_more(area, ".many", "4")
    point(area, "query", 2)
    attention = soft().maps["encoder-decoder"]
    expected = [format_area(top.area) for top in top_areas(attention, 0, 1, 2, 4, percent / 100)]
    assert places_of_head(area, 1) == expected
    expect(area).to_have_attribute("data-marks", str(len(expected)))


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_tinted_like_cells_and_legible(
    app: App, page: Page, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    _, area = opened(page, app(SCRIPT))
    fill_more(area, ".strength", "100")
    choose_more(area, "Heat map")
    area.get_by_role("button", name="Head 2").click()
    point(area, "memory", 5)
    share_Q = item_shares(soft().maps["encoder-decoder"], 0, 1)[:, 5]
    most = area.locator(f"#query-{int(share_Q.argmax())}")
    expect(most).to_have_css("background-color", "rgb(253, 231, 36)")  # the maximum of viridis
    for chip in area.locator(".chip").all():
        assert (
            contrast(
                *(
                    chip.evaluate(f"c => getComputedStyle(c).{part}")
                    for part in ("color", "backgroundColor")
                )
            )
            > 4.5
        )
    page.mouse.move(2, 2)
    expect(most).not_to_have_class(re.compile("tinted"))


def contrast(*colours: str) -> float:
    """Return the contrast of two colours "rgb(r, g, b)", by WCAG 2.2."""
    channels = [
        [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]] for colour in colours
    ]
    linear = [
        [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        for rgb in channels
    ]
    dark, light = sorted(float(np.dot(rgb, (0.2126, 0.7152, 0.0722))) for rgb in linear)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.long
def test_picture_of_one_pixel_reacts_to_hover(app: App, page: Page) -> None:
    page.goto(app(SCRIPT, GRID_WIDTH="1", GRID_COLUMNS="1"))
    area = page.locator(".grid[data-ready]")
    canvas = area.locator("[data-side=memory] .above")
    box = canvas.bounding_box()
    assert box and box["width"] >= 90 and box["height"] <= 480
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.3)
    expect(sentence(area)).to_contain_text("row 2,", ignore_case=True)
    click(area, "query", 2)
    expect(sentence(area)).to_contain_text("To write “red”")
    assert ink(area, "memory") > 500


@pytest.mark.long
def test_control_limits_areas_to_several_cells(grids: tuple[Locator, Locator]) -> None:
    hard, area = grids
    assert hard.locator(".areas button").count() == 0
    choose_more(area, "2+ cells")
    point(area, "query", 2)
    attention = soft().maps["encoder-decoder"]
    for head in range(4):
        top = top_areas(attention, 0, head, 2, 1, min_size=2)[0].area
        assert area.locator(".legend .what").nth(head).text_content() == format_area(top)


def test_keyboard_moves_locks_and_unlocks(selves: tuple[Locator, Locator]) -> None:
    _, area = selves
    page = area.page
    area.locator("[data-side=query][data-kind=picture] .scroller").focus()
    page.keyboard.press("Home")
    expect(sentence(area)).to_contain_text("For row 1, column 1, head")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(sentence(area)).to_contain_text("For row 2, column 2, head")
    scroller = area.locator("[data-side=query][data-kind=picture] .scroller")
    expect(scroller).to_have_attribute("aria-activedescendant", "query-5")
    page.keyboard.press("Enter")
    expect(page.get_by_text("area has Selection(side='query', items=(5,)")).to_be_visible()
    page.keyboard.press("End")
    expect(sentence(area)).to_contain_text("For row 4, column 4, head")
    page.keyboard.press("Escape")
    expect(
        page.get_by_text("area has Selection(side='query', items=(), head=None,")
    ).to_be_visible()
    expect(area.locator(".live")).to_contain_text("For row 4, column 4, head")


@pytest.mark.long
def test_tap_selects_words(app: App, page: Page) -> None:
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(has_touch=True, viewport={"width": 400, "height": 900})
    phone = context.new_page()
    phone.goto(app(SCRIPT))
    area = phone.locator(".grid[data-ready]").nth(1)
    area.locator("#query-3:visible").tap()
    expect(phone.get_by_text("area has Selection(side='query', items=(3,)")).to_be_visible()
    expect(sentence(area)).to_contain_text("To write “circle”")
    context.close()


@pytest.mark.long
def test_grid_follows_page_and_survives_hiding(
    grids: tuple[Locator, Locator],
) -> None:
    _, area = grids
    page = area.page
    page.get_by_role("button", name="Choose the third item").click()
    expect(sentence(area)).to_contain_text("To write “red”")
    click(area, "query", 0)
    expect(page.get_by_text("area has Selection(side='query', items=(0,)")).to_be_visible()
    page.get_by_text("Show grids").click()
    expect(page.locator(".grid")).to_have_count(0)
    page.get_by_text("Show grids").click()
    page.mouse.move(2, 2)
    expect(sentence(area)).to_contain_text("To write “a”")


@pytest.mark.long
def test_click_sends_no_data_again(app: App, page: Page) -> None:
    received: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))),
    )
    url = app(SCRIPT, GRID_SITE="encoder self", GRID_CELLS="14", GRID_SCENE="256", GRID_COLUMNS="1")
    page.goto(url)
    area = page.locator(".grid[data-ready]")
    expect(area).to_be_visible()
    first = sum(received)
    received.clear()
    click(area, "query", 5)
    expect(page.get_by_text("area has Selection(side='query', items=(5,)")).to_be_visible()
    assert sum(received) < 0.1 * first


@pytest.mark.long
def test_hover_sends_no_request(app: App, page: Page) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(
        app(SCRIPT, GRID_SITE="encoder self", GRID_CELLS="14", GRID_SCENE="256", GRID_COLUMNS="1")
    )
    area = page.locator(".grid[data-ready]")
    point(area, "query", 0)
    page.wait_for_timeout(300)
    sent.clear()
    told = set()
    for cell in range(0, 196, 28):
        page.mouse.move(*middle(area, "query", cell))
        expect(sentence(area)).to_contain_text(
            format_area(Area(*divmod(cell, 14), 1, 1)), ignore_case=True
        )
        told.add(sentence(area).inner_text())
    assert len(told) == 7 and sent == []


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800, 400])
def test_grid_is_not_wider_than_the_page(app: App, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(
        app(SCRIPT, GRID_SITE="encoder self", GRID_CELLS="14", GRID_SCENE="256", GRID_COLUMNS="1")
    )
    area = page.locator(".grid[data-ready]")
    expect(area).to_be_visible()
    assert area.evaluate("root => root.scrollWidth <= root.clientWidth")
    own, other = (
        area.locator(f"[data-side={side}] .below:visible").bounding_box()
        for side in ("query", "memory")
    )
    assert own and other
    assert 250 <= own["width"] <= 480 and own["width"] == pytest.approx(other["width"], abs=1)
    assert own["height"] == pytest.approx(own["width"], abs=1)
    assert (other["y"] > own["y"]) == (width == 400)


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800, 390])
def test_words_are_next_to_picture_if_there_is_room(app: App, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(app(SCRIPT, GRID_COLUMNS="1"))
    grid = page.locator(".grid[data-ready]").first
    expect(grid.locator(".chips .chip").first).to_be_visible()
    words, picture, panel = (
        grid.locator(part).bounding_box()
        for part in (".words", ".picture:visible", ".stage > .panel")
    )
    assert words and picture and panel
    is_beside = words["x"] >= picture["x"] + picture["width"]
    assert is_beside == (width == 1280)
    assert is_beside or words["y"] + words["height"] <= picture["y"]
    assert not is_beside or panel["y"] >= words["y"] + words["height"]

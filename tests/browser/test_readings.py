"""The sentence and the legend of an exported page show the same results as the table.

The ribbon and the image grid are tested with coverage, with the smallest area, and with shares
relative to the head's average.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.page.page import export
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import tabulate_grid
from areaviz.views.ribbon.table import tabulate_ribbon
from tests import fakes
from tests.browser.more import choose_more, fill_more
from tests.browser.test_ribbon import point, sentence, shown, tinted

SITE = "encoder-decoder"
ITEMS = (4,)


def sunk() -> Trace:
    """Return a translation whose second head attends to one character for every query."""
    trace = fakes.trace(layers=1)
    weights = trace.maps[SITE].weights
    weights[0, 1] *= 0.2 / weights[0, 1].sum(-1, keepdims=True)
    weights[0, 1, :, 3] += 0.8
    return trace


@pytest.fixture
def ribbon(page: Page, tmp_path: Path) -> Locator:
    """Open a page from its file, and return its ribbon."""
    return open_ribbon(page, sunk(), tmp_path)


def open_ribbon(page: Page, trace: Trace, folder: Path) -> Locator:
    export(trace, folder / "page.html", Focus(SITE))
    page.goto(f"file://{folder}/page.html")
    found = page.locator(".ribbon[data-ready]")
    expect(found).to_be_visible()
    return found


def told(view: Locator) -> list[str]:
    return [shown(line) for line in view.locator(".legend .what").all()]


def numbers(view: Locator) -> list[float]:
    """Return the numbers at the ends of the legend's lines."""
    shares = view.locator(".legend .share").all_text_contents()
    return [float(share.split(",")[-1].strip(" %×<")) for share in shares]


def test_ribbon_readings_match_the_table(ribbon: Locator) -> None:
    trace = sunk()
    for button, fields in (
        ("Coverage", {"reading": "coverage"}),
        ("Smallest area", {"reading": "densest"}),
        ("Relative to average", {"against": "average"}),
    ):
        choose_more(ribbon, button)
        point(ribbon, "query", *ITEMS)
        expect(sentence(ribbon)).to_contain_text("“k”")
        rows = tabulate_ribbon(trace, Focus(SITE, items=ITEMS, **fields)).rows  # type: ignore[arg-type]
        tops = [next(row for row in rows if row[1] == head) for head in (1, 2, 3, 4)]
        assert told(ribbon) == [f"“{row[2]}”" for row in tops], button
        scale = 1 if button == "Relative to average" else 100
        expected = [scale * float(row[5]) for row in tops]
        assert numbers(ribbon) == pytest.approx(expected, abs=0.51 if scale == 100 else 0.2), button
        assert tinted(ribbon, "memory") > 0


@pytest.mark.long
def test_slider_sets_share_of_smallest_area(ribbon: Locator) -> None:
    trace = sunk()
    choose_more(ribbon, "Smallest area")
    fill_more(ribbon, ".mass input", "80")
    point(ribbon, "query", *ITEMS)
    rows = tabulate_ribbon(trace, Focus(SITE, items=ITEMS, reading="densest", mass=80)).rows
    assert told(ribbon) == [f"“{row[2]}”" for row in rows]
    smallest = min(int(row[4]) for row in rows)
    expect(sentence(ribbon)).to_contain_text("At least 80 % of the attention of “k” falls on")
    expect(sentence(ribbon)).to_contain_text(f"{smallest} character")
    choose_more(ribbon, "Words")
    point(ribbon, "query", 6)
    whole = Focus(SITE, items=tuple(range(4, 11)), unit="word", reading="densest", mass=80)
    assert told(ribbon) == [f"“{row[2]}”" for row in tabulate_ribbon(trace, whole).rows]


def test_item_is_no_sink_of_a_head_that_attends_to_it_once(page: Page, tmp_path: Path) -> None:
    trace = sunk()
    # The first head attends to the sink of the second one, but only for a single query.
    weights_QA = trace.maps[SITE].weights[0, 0]
    weights_QA[ITEMS[0]] *= 0.1 / weights_QA[ITEMS[0]].sum()
    weights_QA[ITEMS[0], 3] += 0.9
    ribbon = open_ribbon(page, trace, tmp_path)
    ribbon.get_by_role("button", name="Head 1").click()
    point(ribbon, "query", *ITEMS)
    expect(sentence(ribbon)).to_contain_text("head 1 attends most to “m” (90 %).")


@pytest.mark.long
def test_sink_is_named_and_vanishes_against_the_average(ribbon: Locator) -> None:
    expect(ribbon.locator(".sinks")).to_have_text(
        "Attention sink: “m” (head 2, 61 % of the mean attention)."
    )
    ribbon.get_by_role("button", name="Head 2").click()
    point(ribbon, "query", *ITEMS)
    expect(sentence(ribbon)).to_contain_text(
        "an attention sink of head 2; most above its average is"
    )
    choose_more(ribbon, "Relative to average")
    point(ribbon, "query", *ITEMS)
    assert told(ribbon)[1] != "“m”"
    ribbon.get_by_role("button", name="Head 1").click()
    ribbon.get_by_role("button", name="Head 2").click()
    expect(ribbon.locator(".sinks")).to_have_text("")


@pytest.mark.long
def test_grid_readings_match_the_table(page: Page, tmp_path: Path) -> None:
    trace = fakes.caption_trace(layers=1)
    export(trace, tmp_path / "page.html", Focus(SITE))
    page.goto(f"file://{tmp_path}/page.html")
    grid = page.locator(".grid[data-ready]")
    for button, fields in (
        ("Coverage", {"reading": "coverage"}),
        ("Smallest area", {"reading": "densest"}),
        ("Relative to average", {"against": "average"}),
    ):
        choose_more(grid, button)
        point(grid, "query", 1)
        expect(sentence(grid)).not_to_contain_text("Hover over")
        rows = tabulate_grid(trace, Focus(SITE, items=(1,), **fields)).rows  # type: ignore[arg-type]
        heads = range(1, trace.maps[SITE].heads + 1)
        tops = [next(row for row in rows if row[1] == head) for head in heads]
        np.testing.assert_array_equal(told(grid), [str(row[2]) for row in tops], button)

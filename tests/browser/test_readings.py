"""The three readings and the head's average in a real browser: what is said is what the table says,
in the ribbon, in the image grid and on an exported page.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from areaviz.interactive.grid_table import grid_table
from areaviz.interactive.ribbon_table import ribbon_table
from areaviz.publish.export import export
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes
from tests.browser.test_ribbon import ink, point, sentence, shown

SITE = "encoder-decoder"
ITEMS = (4,)


def sunk() -> Trace:
    """A translation whose second head looks at one letter whatever is asked."""
    trace = fakes.trace(layers=1)
    weights = trace.maps[SITE].weights
    weights[0, 1] *= 0.2 / weights[0, 1].sum(-1, keepdims=True)
    weights[0, 1, :, 3] += 0.8
    return trace


@pytest.fixture
def ribbon(page: Page, tmp_path: Path) -> Locator:
    """The ribbon of a page in a file."""
    export(sunk(), tmp_path / "page.html", Focus(SITE))
    page.goto(f"file://{tmp_path}/page.html")
    found = page.locator(".ribbon[data-ready]")
    expect(found).to_be_visible()
    return found


def choose(view: Locator, name: str) -> None:
    view.get_by_role("button", name=name, exact=True).click()


def told(view: Locator) -> list[str]:
    return [shown(line) for line in view.locator(".legend .what").all()]


def numbers(view: Locator) -> list[float]:
    """The numbers at the ends of the legend's lines."""
    shares = view.locator(".legend .share").all_text_contents()
    return [float(share.split(",")[-1].strip(" %×<")) for share in shares]


def test_every_reading_of_the_ribbon_says_what_the_table_says(ribbon: Locator) -> None:
    trace = sunk()
    for button, fields in (
        ("Coverage", {"reading": "coverage"}),
        ("Densest area", {"reading": "densest"}),
        ("Against the average", {"against": "average"}),
    ):
        choose(ribbon, button)
        point(ribbon, "query", *ITEMS)
        expect(sentence(ribbon)).to_contain_text("“k”")
        rows = ribbon_table(trace, Focus(SITE, items=ITEMS, **fields)).rows  # type: ignore[arg-type]
        tops = [next(row for row in rows if row[1] == head) for head in (1, 2, 3, 4)]
        assert told(ribbon) == [f"“{row[2]}”" for row in tops], button
        scale = 1 if button == "Against the average" else 100
        expected = [scale * float(row[5]) for row in tops]
        assert numbers(ribbon) == pytest.approx(expected, abs=0.51 if scale == 100 else 0.2), button
        assert ink(ribbon, "memory") > 100


def test_the_share_a_densest_area_holds_is_a_slider(ribbon: Locator) -> None:
    trace = sunk()
    choose(ribbon, "Densest area")
    ribbon.locator(".mass input").fill("80")
    point(ribbon, "query", *ITEMS)
    rows = ribbon_table(trace, Focus(SITE, items=ITEMS, reading="densest", mass=80)).rows
    assert told(ribbon) == [f"“{row[2]}”" for row in rows]
    smallest = min(int(row[4]) for row in rows)
    expect(sentence(ribbon)).to_contain_text("At least 80 % of what “k” attends to lies in")
    expect(sentence(ribbon)).to_contain_text(f"{smallest} character")
    choose(ribbon, "Words")
    point(ribbon, "query", 6)
    whole = Focus(SITE, items=tuple(range(4, 11)), unit="word", reading="densest", mass=80)
    assert told(ribbon) == [f"“{row[2]}”" for row in ribbon_table(trace, whole).rows]


def test_a_sink_is_named_and_goes_against_the_average(ribbon: Locator) -> None:
    expect(ribbon.locator(".sinks")).to_have_text(
        "All queries look at “m” (head 2, 61 % of the mean map)."
    )
    choose(ribbon, "Head 2")
    point(ribbon, "query", *ITEMS)
    expect(sentence(ribbon)).to_contain_text(
        "where head 2 looks whatever is asked; more than on average to"
    )
    choose(ribbon, "Against the average")
    point(ribbon, "query", *ITEMS)
    assert "“m”" not in told(ribbon)
    choose(ribbon, "Head 1")
    expect(ribbon.locator(".sinks")).to_be_hidden()


def test_the_grid_reads_alike(page: Page, tmp_path: Path) -> None:
    trace = fakes.caption_trace(layers=1)
    export(trace, tmp_path / "page.html", Focus(SITE))
    page.goto(f"file://{tmp_path}/page.html")
    grid = page.locator(".grid[data-ready]")
    for button, fields in (
        ("Coverage", {"reading": "coverage"}),
        ("Densest area", {"reading": "densest"}),
        ("Against the average", {"against": "average"}),
    ):
        choose(grid, button)
        point(grid, "query", 1)
        expect(sentence(grid)).not_to_contain_text("Point at")
        rows = grid_table(trace, Focus(SITE, items=(1,), **fields)).rows  # type: ignore[arg-type]
        heads = range(1, trace.maps[SITE].heads + 1)
        tops = [next(row for row in rows if row[1] == head) for head in heads]
        np.testing.assert_array_equal(told(grid), [str(row[2]) for row in tops], button)

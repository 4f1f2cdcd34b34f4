"""Lessons 1 and 2: every area is drawn once, the chosen one lit; formulas give the true count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.lessons import grid as rectangles
from areaviz.lessons import sequence as spans
from areaviz.lessons.pictures import ORANGE
from areaviz.trace.areas import Area, AreaGrid

SPANS = st.tuples(st.integers(2, 12), st.integers(1, 12)).map(
    lambda sizes: AreaGrid.clamped((1, sizes[0]), (1, sizes[1]))
)
RECTANGLES = st.tuples(*[st.integers(2, 4)] * 2, *[st.integers(1, 4)] * 2).map(
    lambda sizes: AreaGrid.clamped(sizes[:2], sizes[2:])
)


@settings(deadline=None, max_examples=20)
@given(SPANS, st.data())
def test_the_staircase_has_a_place_for_every_span(grid: AreaGrid, data: st.DataObject) -> None:
    chosen = grid.area(data.draw(st.integers(0, grid.count - 1)))
    figure = spans.figure(grid, chosen)
    assert sorted(figure.data[0].customdata) == list(range(grid.count))
    lit = sum(shape.fillcolor == ORANGE for shape in figure.layout.shapes)
    assert lit == 1 + chosen.width
    assert len(spans.table(grid).rows) == grid.count


@settings(deadline=None, max_examples=30)
@given(SPANS)
def test_the_span_formula_ends_in_the_true_count(grid: AreaGrid) -> None:
    assert rf"\mathbf{{{grid.count}}}" in spans.count_equation(grid)


def test_items_of_spans_are_counted_from_one() -> None:
    assert spans.describe(Area(0, 1, 1, 2)) == "items 2 to 3"
    assert spans.describe(Area(0, 3, 1, 1)) == "item 4"
    assert spans.span(Area(0, 1, 1, 2)) == "2–3"


@settings(deadline=None, max_examples=15)
@given(RECTANGLES, st.data())
def test_the_mosaic_shows_every_rectangle_once(grid: AreaGrid, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, grid.count - 1))
    figure = rectangles.figure(grid, grid.area(number))
    heat, hits = figure.data
    cells = np.asarray(heat.z, dtype=float)
    held = (cells == rectangles.HELD) | (cells == rectangles.CHOSEN_HELD)
    assert held.sum() == grid.sizes().sum()
    assert (cells == rectangles.CHOSEN_HELD).sum() == grid.area(number).size
    assert np.isfinite(cells).sum() == grid.count * grid.items
    assert sorted(hits.customdata) == list(range(grid.count))


@settings(deadline=None, max_examples=20)
@given(RECTANGLES)
def test_a_click_on_a_small_grid_means_the_area_it_shows(grid: AreaGrid) -> None:
    figure = rectangles.figure(grid, grid.area(0))
    heat, hits = figure.data
    cells = np.asarray(heat.z, dtype=float)
    for x, y, number in zip(hits.x, hits.y, hits.customdata, strict=True):
        left, top = round(x - (grid.width - 1) / 2), round(y - (grid.height - 1) / 2)
        shown = cells[top : top + grid.height, left : left + grid.width] % 2 == 1
        area = grid.area(number)
        rows, columns = np.nonzero(shown)
        assert (rows.min(), columns.min(), len(rows)) == (area.top, area.left, area.size)


@pytest.mark.parametrize(
    ("sizes", "count"), [((3, 3, 2, 2), 25), ((4, 4, 1, 1), 16), ((2, 5, 2, 3), 36)]
)
def test_the_rectangle_formula_ends_in_the_true_count(
    sizes: tuple[int, int, int, int], count: int
) -> None:
    grid = AreaGrid(*sizes)
    assert rf"\mathbf{{{count}}}" in rectangles.count_equation(grid)
    assert sum(int(row[2]) for row in rectangles.table(grid).rows) == count


def test_the_closeup_lights_the_items_of_the_area() -> None:
    figure = rectangles.closeup(AreaGrid(3, 3, 2, 2), Area(1, 0, 2, 2))
    lit = [note.text for note in figure.layout.annotations if note.font.color]
    assert lit == ["4", "5", "7", "8"]

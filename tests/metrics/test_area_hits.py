"""Scores of whole areas against boxes, compared with hand-made cases and a slow version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.lab.tasks.captions import compute_area_hits
from areaviz.measures.pointing import compute_box_overlaps, compute_inside_shares
from areaviz.trace.areas import Area, AreaGrid

GRID = AreaGrid(4, 4, 2, 2)


def on(area: Area) -> np.ndarray:
    weights = np.zeros(GRID.count)
    weights[GRID.index(area)] = 1.0
    return weights


def test_fitting_rectangle_overlaps_more_than_any_cell() -> None:
    box = (0.25, 0.25, 0.75, 0.75)
    weights = on(Area(1, 1, 2, 2))
    weights[GRID.index(Area(2, 2, 1, 1))] = 0.5
    figures = compute_area_hits([(weights, GRID, [box])])
    assert figures["overlap"] == figures["overlap_best"] == 1.0
    assert figures["overlap_cell"] == figures["overlap_best_cell"] == 0.25
    assert figures["overlap_lift"] == 4.0
    # The top cell is outside the box, but the best cell is not.
    weights[GRID.index(Area(0, 0, 1, 1))] = 0.6
    figures = compute_area_hits([(weights, GRID, [box])])
    assert (figures["overlap_cell"], figures["overlap_best_cell"]) == (0.0, 0.25)
    assert figures["multi_words"] == figures["area_hit"] == figures["area_hit_fixed"] == 1.0


def test_fixed_baseline_is_best_place_per_shape() -> None:
    """Two words are at the left and one at the right, so a fixed cell at the left finds two."""
    left, right = (0.0, 0.0, 0.25, 1.0), (0.75, 0.0, 1.0, 1.0)
    cell = on(Area(0, 3, 1, 1))
    figures = compute_area_hits([(cell, GRID, [left]), (cell, GRID, [left]), (cell, GRID, [right])])
    assert figures["area_hit"] == pytest.approx(1 / 3)
    assert figures["area_hit_fixed"] == pytest.approx(2 / 3)
    assert figures["multi_words"] == 0.0


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_overlaps_match_cell_by_cell_counts(edges: list[float]) -> None:
    boxes = []
    for x, y, other_x, other_y in (edges[:4], edges[4:]):
        boxes.append((min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)))
    inside_N = compute_inside_shares(GRID, boxes)
    for number, found in enumerate(compute_box_overlaps(GRID, boxes)):
        area = GRID.area(number)
        shared = sum(inside_N[item] for item in GRID.items_of(area))
        assert found == pytest.approx(shared / (area.size + inside_N.sum() - shared), abs=1e-5)


def test_no_words_give_no_figures() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        compute_area_hits([])

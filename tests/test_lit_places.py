"""Areas on the right things: middles, small things in larger areas, and the baseline."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap
from tests.lit_places import lit_places


def lit(grid: AreaGrid, *areas: Area) -> AttentionMap:
    """Return a map of one head whose heaviest areas are given, one for each query."""
    weights = np.zeros((1, 1, len(areas), grid.count), np.float32)
    for query, area in enumerate(areas):
        weights[0, 0, query, grid.index(area)] = 1.0
    return AttentionMap("site", "target", "picture", grid, weights)


CELLS = AreaGrid(8, 8, 4, 5)


def test_area_centred_on_the_thing_is_right() -> None:
    found = lit_places(lit(CELLS, Area(0, 0, 2, 2)), 0, 0, {0: [(0.0, 0.0, 0.3, 0.3)]})
    assert (found.queries, found.right, found.middle, found.share) == (1, 1, 0, 1.0)


def test_area_containing_a_small_thing_is_right() -> None:
    box = (0.0, 0.0, 0.1, 0.1)
    assert lit_places(lit(CELLS, Area(0, 0, 3, 3)), 0, 0, {0: [box]}).right == 1
    assert lit_places(lit(CELLS, Area(0, 1, 3, 3)), 0, 0, {0: [box]}).right == 0


def test_large_area_is_never_right() -> None:
    everything = {0: [(0.0, 0.0, 1.0, 1.0)]}
    large = lit(CELLS, Area(0, 0, 4, 5))
    found = lit_places(large, 0, 0, everything)
    assert (found.right, found.middle) == (0, 0)
    assert lit_places(large, 0, 0, everything, largest=0.5).right == 1


def test_baseline_of_a_picture_is_its_centre() -> None:
    middle = {0: [(0.4, 0.4, 0.6, 0.6)], 1: [(0.0, 0.0, 0.1, 0.1)]}
    found = lit_places(lit(CELLS, Area(0, 0, 2, 2), Area(0, 0, 2, 2)), 0, 0, middle)
    assert (found.right, found.middle) == (1, 1)


def test_baseline_of_one_row_follows_the_query() -> None:
    row = lit(AreaGrid(1, 8, 1, 2), *[Area(0, 0, 1, 2)] * 4)
    found = lit_places(row, 0, 0, {3: [(0.75, 0.0, 1.0, 1.0)]})
    assert (found.right, found.middle) == (0, 1)


def test_empty_input_is_refused() -> None:
    with pytest.raises(ValueError, match="no boxes"):
        lit_places(lit(CELLS, Area(0, 0, 1, 1)), 0, 0, {})

"""The pointing game and the mass in boxes by hand, and compared with loops and chance."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.measures.pointing import (
    Box,
    compute_cell_shares,
    compute_inside_shares,
    compute_pointing_figures,
    find_centres_inside,
    is_pointing_right,
    sum_share_in_boxes,
)
from areaviz.trace.areas import Area, AreaGrid

Array = npt.NDArray[np.float32]
SOME = settings(deadline=None, max_examples=60)
FINE = 24
"""The finest division of a picture.

Edges of boxes and cells are multiples of 1 / FINE, so loops over these parts are exact.
"""
EDGES = st.tuples(st.integers(0, FINE), st.integers(0, FINE)).map(sorted)
BOXES = st.lists(st.tuples(EDGES, EDGES), max_size=3).map(
    lambda pairs: [(x0 / FINE, y0 / FINE, x1 / FINE, y1 / FINE) for (x0, x1), (y0, y1) in pairs]
)
GRIDS = st.tuples(*[st.sampled_from([1, 2, 3, 4])] * 2).map(
    lambda shape: AreaGrid.clamped(shape, (2, 2))
)


def weights(grid: AreaGrid, given: dict[Area, float]) -> Array:
    """Return weights that are 0 except for the given areas."""
    row = np.zeros(grid.count, dtype=np.float32)
    for area, weight in given.items():
        row[grid.index(area)] = weight
    return row


def some_weights(grid: AreaGrid, seed: int) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(grid.count, 2.0)).astype(np.float32)


def inside(x: float, y: float, boxes: list[Box]) -> bool:
    return any(box[0] <= x < box[2] and box[1] <= y < box[3] for box in boxes)


def slow_shares(row: Array, grid: AreaGrid) -> list[float]:
    """Give each area's weight to all of its cells, and normalise the cells to a sum of 1."""
    cells = [0.0] * grid.items
    for index, weight in enumerate(row.tolist()):
        area = grid.area(index)
        for y, x in product(range(area.height), range(area.width)):
            cells[(area.top + y) * grid.width + area.left + x] += weight
    return [cell / sum(cells) for cell in cells]


def slow_inside(grid: AreaGrid, boxes: list[Box]) -> list[float]:
    """Return the share of the small parts of each cell that are in a box."""
    parts: list[list[bool]] = [[] for _ in range(grid.items)]
    for y, x in product(range(FINE), range(FINE)):
        cell = y * grid.height // FINE * grid.width + x * grid.width // FINE
        parts[cell].append(inside((x + 0.5) / FINE, (y + 0.5) / FINE, boxes))
    return [sum(part) / len(part) for part in parts]


def slow_middles(grid: AreaGrid, boxes: list[Box]) -> list[bool]:
    places = product(range(grid.height), range(grid.width))
    return [inside((x + 0.5) / grid.width, (y + 0.5) / grid.height, boxes) for y, x in places]


def test_area_weight_counts_for_all_its_cells() -> None:
    grid = AreaGrid(2, 3, 1, 2)
    row = weights(grid, {Area(0, 0, 1, 2): 0.5, Area(0, 1, 1, 1): 0.25, Area(1, 2, 1, 1): 0.25})
    assert compute_cell_shares(row, grid) == pytest.approx(np.array([2, 3, 0, 0, 0, 1]) / 6)
    assert is_pointing_right(row, grid, [(0.4, 0.0, 0.6, 0.5)])
    assert not is_pointing_right(row, grid, [(0.0, 0.0, 0.3, 1.0), (0.6, 0.0, 1.0, 1.0)])
    # The boxes contain half of the left cell and a quarter of the right one.
    assert sum_share_in_boxes(
        row, grid, [(1 / 6, 0.0, 1 / 3, 1.0), (2 / 3, 0.5, 5 / 6, 0.75)]
    ) == pytest.approx(2 / 6 * 0.5 + 1 / 6 * 0.25)


def test_cell_centre_must_lie_inside_the_box() -> None:
    grid = AreaGrid(1, 2, 1, 1)
    left = weights(grid, {Area(0, 0, 1, 1): 1.0})
    assert is_pointing_right(left, grid, [(0.25, 0.5, 0.3, 0.6)])
    assert not is_pointing_right(left, grid, [(0.2, 0.2, 0.25, 0.8)])
    assert not is_pointing_right(left, grid, [(0.2, 0.2, 0.8, 0.5)])


def test_overlapping_or_protruding_boxes_count_once() -> None:
    grid = AreaGrid(2, 2, 1, 1)
    assert compute_inside_shares(grid, [(-1, -1, 0.5, 0.5), (0, 0, 0.5, 0.25)]).tolist() == [
        1,
        0,
        0,
        0,
    ]
    assert compute_inside_shares(grid, [(0.75, 0.9, 3, 2)]) == pytest.approx([0, 0, 0, 0.5 * 0.2])
    assert compute_inside_shares(grid, []).tolist() == [0, 0, 0, 0]


@SOME
@given(GRIDS, BOXES, st.integers(0, 99))
def test_measures_match_slow_versions(grid: AreaGrid, boxes: list[Box], seed: int) -> None:
    row = some_weights(grid, seed)
    shares = slow_shares(row, grid)
    assert compute_cell_shares(row, grid) == pytest.approx(shares, abs=1e-6)
    assert compute_inside_shares(grid, boxes) == pytest.approx(slow_inside(grid, boxes))
    assert find_centres_inside(grid, boxes).tolist() == slow_middles(grid, boxes)
    mass = sum(share * part for share, part in zip(shares, slow_inside(grid, boxes), strict=True))
    assert sum_share_in_boxes(row, grid, boxes) == pytest.approx(mass, abs=1e-6)


@SOME
@given(GRIDS, st.lists(st.tuples(BOXES, st.integers(0, 99)), min_size=1, max_size=4))
def test_figures_match_slow_versions(grid: AreaGrid, words: list[tuple[list[Box], int]]) -> None:
    figures = compute_pointing_figures(
        (some_weights(grid, seed), grid, boxes) for boxes, seed in words
    )
    shares = np.array([slow_shares(some_weights(grid, seed), grid) for _, seed in words])
    middles = np.array([slow_middles(grid, boxes) for boxes, _ in words])
    parts = np.array([slow_inside(grid, boxes) for boxes, _ in words])
    mean = shares.mean(0)
    hold_middle = []
    for boxes, _ in words:
        hold_middle.append(any(x0 <= 0.5 < x1 and y0 <= 0.5 < y1 for x0, y0, x1, y1 in boxes))
    assert figures == pytest.approx(
        {
            "pointing": np.mean([middles[i, shares[i].argmax()] for i in range(len(words))]),
            "mass": np.mean([shares[i] @ parts[i] for i in range(len(words))]),
            "pointing_uniform": middles.mean(),
            "mass_uniform": parts.mean(),
            "pointing_middle": np.mean(hold_middle),
            "pointing_position": np.mean([middles[i, mean.argmax()] for i in range(len(words))]),
            "mass_position": np.mean([mean @ parts[i] for i in range(len(words))]),
            "words": len(words),
        },
        abs=1e-6,
    )


@SOME
@given(GRIDS, st.lists(BOXES, min_size=1, max_size=4), st.integers(0, 99))
def test_blind_model_equals_position_baseline(
    grid: AreaGrid, words: list[list[Box]], seed: int
) -> None:
    figures = compute_pointing_figures([(some_weights(grid, seed), grid, boxes) for boxes in words])
    assert figures["pointing"] == pytest.approx(figures["pointing_position"])
    assert figures["mass"] == pytest.approx(figures["mass_position"])


def test_model_that_finds_objects_exceeds_chance() -> None:
    grid = AreaGrid(2, 2, 1, 1)
    cells = [Area(y, x, 1, 1) for y in (0, 1) for x in (0, 1)]
    boxes = [
        (area.left / 2, area.top / 2, area.left / 2 + 0.5, area.top / 2 + 0.5) for area in cells
    ]
    rows = [
        (weights(grid, {area: 1.0}), grid, [box]) for area, box in zip(cells, boxes, strict=True)
    ]
    crossed = [(mine[0], grid, other[2]) for mine, other in zip(rows, rows[::-1], strict=True)]
    right, wrong = compute_pointing_figures(rows), compute_pointing_figures(crossed)
    assert (right["pointing"], right["mass"], wrong["pointing"], wrong["mass"]) == (1, 1, 0, 0)
    for figures in (right, wrong):
        chance = [
            figures[f"{name}_{kind}"]
            for name in ("pointing", "mass")
            for kind in ("uniform", "position")
        ]
        assert chance == [0.25] * 4


def test_pointing_needs_words_on_equal_grids() -> None:
    with pytest.raises(ValueError, match="at least one word"):
        compute_pointing_figures([])
    nowhere: list[Box] = []
    rows = [
        (some_weights(grid, 0), grid, nowhere)
        for grid in (AreaGrid(2, 3, 1, 1), AreaGrid(3, 2, 1, 1))
    ]
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(3, 2\)"):
        compute_pointing_figures(rows)

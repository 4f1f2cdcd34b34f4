"""Area geometry: the paper's known answers, and indices compared with a plain enumeration."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.trace.areas import Area, AreaGrid, format_area, format_span


def enumerated(grid: AreaGrid) -> list[Area]:
    """Enumerate the areas by height, then width, then row by row over the top-left corner."""
    return [
        Area(top, left, height, width)
        for height in range(1, grid.max_height + 1)
        for width in range(1, grid.max_width + 1)
        for top in range(grid.height - height + 1)
        for left in range(grid.width - width + 1)
    ]


SMALL = [
    AreaGrid(height, width, max_height, max_width)
    for height in range(1, 5)
    for width in range(1, 6)
    for max_height in range(1, height + 1)
    for max_width in range(1, width + 1)
]


@pytest.mark.parametrize(
    ("grid", "count"),
    [
        (AreaGrid(1, 4, 1, 3), 9),
        (AreaGrid(1, 5, 1, 3), 12),
        (AreaGrid(3, 3, 2, 2), 25),
        (AreaGrid(8, 8, 3, 3), 441),
        (AreaGrid(14, 14, 4, 4), 2500),
        (AreaGrid(1, 1, 1, 1), 1),
    ],
)
def test_area_count_known_values(grid: AreaGrid, count: int) -> None:
    assert grid.count == count == len(grid.table()) == len(grid.sizes())


def test_area_count_follows_paper_formula() -> None:
    for length in range(1, 30):
        for largest in range(1, length + 1):
            formula = (length - largest) * largest + largest * (largest + 1) // 2
            assert AreaGrid(1, length, 1, largest).count == formula


@pytest.mark.parametrize("grid", SMALL, ids=str)
def test_grid_matches_plain_enumeration(grid: AreaGrid) -> None:
    areas = enumerated(grid)
    assert [grid.area(index) for index in range(grid.count)] == areas
    assert [grid.index(area) for area in areas] == list(range(grid.count))
    assert grid.table().tolist() == [[a.top, a.left, a.height, a.width] for a in areas]
    assert grid.sizes().tolist() == [area.size for area in areas]
    for height, width in grid.shapes():
        first, rows, columns = grid.slab(height, width)
        slab = areas[first : first + rows * columns]
        assert {(area.height, area.width) for area in slab} == {(height, width)}
        assert (slab[-1].top, slab[-1].left) == (rows - 1, columns - 1)


@settings(deadline=None)
@given(st.data())
def test_index_and_area_are_inverse_on_large_grids(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 10**6)), data.draw(st.integers(1, 10**6))
    grid = AreaGrid(
        height, width, data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    )
    index = data.draw(st.integers(0, grid.count - 1))
    area = grid.area(index)
    assert grid.index(area) == index
    assert area.height <= grid.max_height and area.top + area.height <= height
    assert area.width <= grid.max_width and area.left + area.width <= width


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 10**6), st.data())
def test_slabs_of_consecutive_extents_are_adjacent(length: int, data: st.DataObject) -> None:
    grid = AreaGrid(1, length, 1, data.draw(st.integers(1, length)))
    extent = data.draw(st.integers(1, grid.max_width))
    first = grid.slab(1, extent)[0]
    assert grid.area(first) == Area(0, 0, 1, extent)
    if extent > 1:
        assert grid.area(first - 1) == Area(0, length - extent + 1, 1, extent - 1)


def test_area_from_numpy_index_has_plain_numbers() -> None:
    area = AreaGrid(3, 3, 2, 2).area(np.int64(20))  # type: ignore[arg-type]
    assert json.loads(json.dumps(asdict(area))) == asdict(AreaGrid(3, 3, 2, 2).area(20))


@pytest.mark.parametrize(
    "sizes", [(0, 4, 1, 1), (1, 4, 0, 1), (1, 4, 2, 1), (1, 4, 1, 5), (1, -1, 1, 1)]
)
def test_impossible_grids_are_refused(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least 1|smaller area size"):
        AreaGrid(*sizes)


def test_clamping_cuts_area_to_memory() -> None:
    assert AreaGrid.clamped((1, 3), (4, 5)) == AreaGrid(1, 3, 1, 3)
    assert AreaGrid.clamped((2, 9), (1, 5)) == AreaGrid(2, 9, 1, 5)


@pytest.mark.parametrize("index", [-1, 9])
def test_index_outside_grid_is_refused(index: int) -> None:
    with pytest.raises(IndexError, match="outside 0..8"):
        AreaGrid(1, 4, 1, 3).area(index)


@pytest.mark.parametrize(
    "area", [Area(0, 0, 1, 4), Area(0, 3, 1, 2), Area(1, 0, 1, 1), Area(0, -1, 1, 1)]
)
def test_foreign_area_has_no_index(area: Area) -> None:
    with pytest.raises(ValueError, match="not an area"):
        AreaGrid(1, 4, 1, 3).index(area)


def test_area_description_in_words() -> None:
    assert format_area(Area(1, 3, 2, 3)) == "rows 2-3, columns 4-6"
    assert format_area(Area(2, 4, 1, 1)) == "row 3, column 5"


def test_span_description_in_words() -> None:
    assert format_span(Area(0, 2, 1, 1)) == "item 3"
    assert format_span(Area(0, 2, 1, 3)) == "items 3-5"

"""Lesson 7: operations are counted as the code would do them."""

from __future__ import annotations

import pytest

from areaviz.learn import arithmetic
from areaviz.trace.areas import AreaGrid


@pytest.mark.parametrize("sizes", [(1, 16, 1, 5), (4, 5, 2, 3), (6, 6, 6, 6)])
def test_operations_counts_additions_of_three_methods(sizes: tuple[int, int, int, int]) -> None:
    grid = AreaGrid(*sizes)
    areas = [grid.area(number) for number in range(grid.count)]
    counts = arithmetic.count_operations(grid)
    assert counts["areas"] == len(areas)
    assert counts["one by one"] == sum(area.size - 1 for area in areas)
    assert counts["recurrence"] == sum(area.size > 1 for area in areas)
    along, down = grid.height * (grid.width - 1), (grid.height - 1) * grid.width
    assert counts["table"] == along + down + 3 * len(areas)


def test_single_item_areas_cost_as_much_as_regular_attention() -> None:
    counts = arithmetic.count_operations(AreaGrid(1, 64, 1, 1))
    assert counts["built areas"] == counts["regular"]


def test_factored_form_costs_little_more_than_regular_attention() -> None:
    counts = arithmetic.count_operations(AreaGrid(1, 256, 1, 5))
    assert counts["built areas"] / counts["regular"] == pytest.approx(1270 / 256)
    assert 1 < counts["factored"] / counts["regular"] < 1.1

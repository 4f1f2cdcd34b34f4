"""The table of sums with its corners, and the rounding errors."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.learn import arithmetic
from areaviz.learn.arithmetic import list_areas, select_items
from areaviz.trace.areas import Area

ALL = list_areas(arithmetic.TABLE_GRID)


@pytest.mark.parametrize("area", ALL)
def test_four_corners_give_the_sum_of_any_rectangle(area: Area) -> None:
    i1, i2, i3, i4 = arithmetic.get_corners(area)
    assert i1 + i2 - i3 - i4 == select_items(arithmetic.TABLE_MEMORY[..., None], area).sum()


def test_summed_area_table_loses_digits_and_merge_does_not() -> None:
    near, far = arithmetic.measure_rounding(0), arithmetic.measure_rounding(300)
    assert near.table_error < 0.01
    assert far.table_error > 1
    assert near.negative == 0 and far.negative > 100, "the number answers to the slider"
    assert max(near.merged_error, far.merged_error) < 1e-3
    assert far.merged.dtype == far.table.dtype == np.float32
    assert (far.merged >= 0).all()

"""Lessons 3, 9 and 10: the worked numbers, the table's steps and corners, the rounding errors."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import mean_and_sum, rounding, summed_table
from areaviz.lessons.arithmetic import areas_of, items_of
from areaviz.trace.areas import Area

ALL = areas_of(summed_table.GRID)


def test_the_chosen_area_is_worked_out() -> None:
    grid, area = mean_and_sum.NUMBERS_HWD, Area(0, 1, 2, 2)
    assert mean_and_sum.mean_equation(grid, area) == r"\mu = \frac{2 + 3 + 5 + 6}{4} = \mathbf{4}"
    assert mean_and_sum.sum_equation(grid, area) == r"v = 2 + 3 + 5 + 6 = \mathbf{16}"
    assert (
        mean_and_sum.deviation_equation(grid, area)
        == r"\sigma = \sqrt{\frac{4 + 1 + 1 + 4}{4}} = \mathbf{1.581}"
    )


def test_the_squares_of_six_items_stand_in_two_lines() -> None:
    words = mean_and_sum.deviation_equation(mean_and_sum.NUMBERS_HWD, Area(0, 0, 2, 3))
    squares = r"6.25 + 2.25 + 0.25 \\ + 0.25 + 2.25 + 6.25"
    assert rf"\begin{{gathered}}{squares}\end{{gathered}}}}{{6}}}} = \mathbf{{1.708}}" in words


def test_pairs_are_worked_out_as_vectors() -> None:
    area = Area(0, 0, 1, 3)
    assert r"\mathbf{(3, 4)}" in mean_and_sum.mean_equation(mean_and_sum.PAIRS_HWD, area)
    assert r"\mathbf{(9, 12)}" in mean_and_sum.sum_equation(mean_and_sum.PAIRS_HWD, area)
    assert r"\mathbf{(1.633, 1.633)}" in mean_and_sum.deviation_equation(
        mean_and_sum.PAIRS_HWD, area
    )


@pytest.mark.parametrize("name", list(mean_and_sum.MEMORIES))
def test_the_table_of_numbers_has_a_row_for_every_area(name: str) -> None:
    memory_HWD = mean_and_sum.MEMORIES[name]
    assert len(mean_and_sum.table(memory_HWD).rows) == mean_and_sum.areas(memory_HWD).count


def test_the_known_sums_stand_in_the_table() -> None:
    sums = [row[3] for row in mean_and_sum.table(mean_and_sum.NUMBERS_HWD).rows]
    assert sums == [
        str(total) for total in (1, 2, 3, 4, 5, 6, 3, 5, 9, 11, 6, 15, 5, 7, 9, 12, 16, 21)
    ]


@pytest.mark.parametrize("area", ALL)
def test_four_corners_give_the_sum_of_any_rectangle(area: Area) -> None:
    i1, i2, i3, i4 = summed_table.corners(area)
    assert i1 + i2 - i3 - i4 == items_of(summed_table.MEMORY[..., None], area).sum()
    assert rf"\mathbf{{{i1 + i2 - i3 - i4:g}}}" in summed_table.corners_equation(area)


@pytest.mark.parametrize("area", ALL[::5])
@pytest.mark.parametrize("step", range(4))
def test_the_lit_entry_is_the_sum_of_the_lit_items(step: int, area: Area) -> None:
    shift = 1 if step == 3 else 0
    entry = summed_table.stage(step)[
        area.top + area.height - 1 + shift, area.left + area.width - 1 + shift
    ]
    lit = summed_table.summed(step, area)
    assert entry == items_of(summed_table.MEMORY[..., None], lit).sum()
    if step:
        assert rf"\mathbf{{{entry:g}}}" in summed_table.entry_equation(step, area)


@pytest.mark.parametrize("step", range(5))
def test_every_step_draws_memory_and_table(step: int) -> None:
    figure = summed_table.figure(step, Area(1, 1, 2, 2))
    cells = summed_table.MEMORY.size + summed_table.stage(step).size
    assert len(figure.layout.shapes) == cells
    assert sorted(figure.data[0].customdata) == list(range(summed_table.MEMORY.size))
    assert len(summed_table.table(step).rows) == len(summed_table.stage(step))


def test_the_corners_are_named_with_their_signs() -> None:
    texts = [note.text for note in summed_table.figure(4, Area(1, 1, 2, 2)).layout.annotations]
    assert texts.count("+") == texts.count("−") == 2


def test_the_table_loses_digits_where_the_merge_does_not() -> None:
    near, far = rounding.measure(0), rounding.measure(300)
    assert near.table_error < 0.01
    assert far.table_error > 1
    assert near.negative == 0 and far.negative > 100, "the number answers to the slider"
    assert max(near.merged_error, far.merged_error) < 1e-3
    assert far.merged.dtype == far.table.dtype == np.float32
    assert (far.merged >= 0).all()


def test_the_rounding_picture_has_a_dot_for_every_area() -> None:
    _, table, merged = rounding.figure(rounding.measure(100)).data
    assert len(table.x) == len(merged.x) == rounding.GRID.count
    assert [row[0] for row in rounding.table().rows] == list(rounding.MEANS)

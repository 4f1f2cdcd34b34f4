"""Sums, means and deviations of areas against their definitions and the known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.learn import arithmetic
from areaviz.trace.areas import AreaGrid

GRIDS = st.tuples(*[st.integers(1, 4)] * 4).map(
    lambda sizes: AreaGrid.clamped(sizes[:2], sizes[2:])
)

NUMBERS_HWD = np.arange(1.0, 7.0).reshape(2, 3, 1)
PAIRS_HWD = np.arange(1.0, 11.0).reshape(1, 5, 2)


def by_definition(x_HWD: arithmetic.Floats, grid: AreaGrid, reduce: str) -> arithmetic.Floats:
    return np.stack(
        [
            getattr(arithmetic.select_items(x_HWD, grid.area(n)), reduce)(0)
            for n in range(grid.count)
        ]
    )


@settings(deadline=None)
@given(GRIDS, st.integers(0, 99))
def test_every_area_follows_its_definition(grid: AreaGrid, seed: int) -> None:
    x_HWD = np.random.default_rng(seed).normal(3, 2, (grid.height, grid.width, 2))
    pairs = (
        (arithmetic.compute_area_sums, "sum"),
        (arithmetic.compute_sums_by_table, "sum"),
        (arithmetic.compute_area_means, "mean"),
        (arithmetic.compute_area_deviations, "std"),
    )
    for function, reduce in pairs:
        np.testing.assert_allclose(
            function(x_HWD, grid), by_definition(x_HWD, grid, reduce), atol=1e-12
        )
    variances = by_definition(x_HWD, grid, "var")
    np.testing.assert_allclose(
        arithmetic.compute_variances_by_table(x_HWD, grid), variances, atol=1e-10
    )


def test_known_answers_of_the_sequence_of_pairs() -> None:
    grid = AreaGrid(1, 5, 1, 3)
    singles = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]
    means = [*singles, [2, 3], [4, 5], [6, 7], [8, 9], [3, 4], [5, 6], [7, 8]]
    sums = [*singles, [4, 6], [8, 10], [12, 14], [16, 18], [9, 12], [15, 18], [21, 24]]
    assert arithmetic.compute_area_means(PAIRS_HWD, grid).tolist() == means
    assert arithmetic.compute_area_sums(PAIRS_HWD, grid).tolist() == sums
    deviations = arithmetic.compute_area_deviations(PAIRS_HWD, grid)
    expected = [0.0] * 5 + [1.0] * 4 + [1.632993] * 3
    np.testing.assert_allclose(deviations, np.stack([expected, expected], 1), atol=1e-6)


def test_known_answers_of_the_grid_of_six() -> None:
    sums = arithmetic.compute_area_sums(NUMBERS_HWD, AreaGrid(2, 3, 2, 3))[:, 0]
    assert sums.tolist() == [1, 2, 3, 4, 5, 6, 3, 5, 9, 11, 6, 15, 5, 7, 9, 12, 16, 21]


def test_constant_memory_has_no_deviation_in_float32() -> None:
    x_HWD = np.full((1, 40, 1), 1000.1, dtype=np.float32)
    deviations = arithmetic.compute_area_deviations(x_HWD, AreaGrid(1, 40, 1, 5))
    assert deviations.dtype == np.float32
    assert not deviations.any()


@pytest.mark.parametrize(
    ("number", "text"),
    [(4, "4"), (1.5, "1.5"), (1.6329932, "1.633"), (-0.0001, "0"), (100, "100"), (-2.5, "-2.5")],
)
def test_numbers_are_written_plainly(number: float, text: str) -> None:
    assert arithmetic.format_number(number) == text

"""Smallest areas compared with an exhaustive search that computes in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace import areas
from areaviz.trace.areas import AreaGrid, find_smallest_areas
from tests.trace.strategies import SOME

Found = tuple[list[int], Fraction]


def slow_densest(row: list[float], height: int, width: int, mass: float) -> Found:
    """Search every area that holds the mass, and return the first one.

    Areas are ordered by size, then by decreasing mass, height, top and left.

    Returns:
        Top, left, height and width of the area, and its share of the weights.
    """
    shares, total = [Fraction(share) for share in row], sum(map(Fraction, row))
    if not total:
        return [0, 0, 0, 0], Fraction(0)
    need = (Fraction(mass) - Fraction(areas.ROUNDING)) * total
    found = []
    for tall, wide in np.ndindex(height, width):
        for top, left in np.ndindex(height - tall, width - wide):
            rows, columns = range(top, top + tall + 1), range(left, left + wide + 1)
            held = sum((shares[r * width + c] for r in rows for c in columns), Fraction(0))
            if held >= need:
                found.append(((tall + 1) * (wide + 1), -held, tall + 1, top, left, wide + 1))
    _, held, tall, top, left, wide = min(found)
    return [top, left, tall, wide], -held / total


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, AreaGrid, float]:
    """Draw rows of eighths on a sequence or a grid, so that running sums of shares are exact."""
    height, width = draw(st.sampled_from([(1, 1), (1, 2), (1, 13), (3, 3), (4, 2), (2, 5), (5, 1)]))
    grid = AreaGrid(height, width, draw(st.integers(1, height)), draw(st.integers(1, width)))
    whole = st.integers(0, 8) | st.sampled_from([0, 0, 1])
    rows = draw(
        st.lists(st.lists(whole, min_size=grid.items, max_size=grid.items), min_size=1, max_size=4)
    )
    p_RN = np.array(rows, dtype=np.float32)
    for row in p_RN:  # fill up to a power of two, so that each share is a whole number of UNITs
        row[draw(st.integers(0, grid.items - 1))] += (128 - row.sum()) if row.any() else 0
    mass = draw(st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0]) | st.floats(0.01, 1))
    return p_RN / 128, grid, mass


@SOME
@given(cases())
def test_densest_area_is_smallest_then_heaviest(
    case: tuple[np.ndarray, AreaGrid, float],
) -> None:
    p_RN, grid, mass = case
    found = find_smallest_areas(p_RN, grid, mass)
    assert found.area.dtype == np.int64 and found.share.dtype == np.float32
    for row, area, share in zip(
        p_RN.tolist(), found.area.tolist(), found.share.tolist(), strict=True
    ):
        expected, held = slow_densest(row, grid.height, grid.width, mass)
        assert area == expected
        assert share == pytest.approx(float(held), abs=1e-6)


@SOME
@given(st.integers(1, 12), st.integers(1, 30), st.floats(0.01, 1), st.integers(0, 99))
def test_densest_areas_of_long_sequences_and_grids(
    rows: int, columns: int, mass: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    p_N = (rng.exponential(1, rows * columns) ** 3).astype(np.float32)
    found = find_smallest_areas(p_N, AreaGrid(rows, columns, 1, 1), mass)
    top, left, height, width = found.area.tolist()
    share_YX = (p_N.astype(np.float64) / p_N.sum(dtype=np.float64)).reshape(rows, columns)
    held = share_YX[top : top + height, left : left + width].sum()
    assert held == pytest.approx(float(found.share), abs=1e-6) and held >= mass - 2e-6
    for other_height in range(1, rows + 1):  # every smaller area holds less than the mass
        other_width = min((height * width - 1) // other_height, columns)
        if other_width:
            windows = np.lib.stride_tricks.sliding_window_view(
                share_YX, (other_height, other_width)
            )
            assert windows.sum((2, 3)).max() < mass


def test_densest_areas_known_answers() -> None:
    grid = AreaGrid(1, 6, 1, 2)
    p_RN = np.array(
        [[0.1, 0.1, 0.5, 0.1, 0.1, 0.1], [0.3, 0.0, 0.3, 0.3, 0.1, 0.0], [0, 0, 0, 0, 0, 0]],
        np.float32,
    )
    found = find_smallest_areas(p_RN, grid)
    assert found.area.tolist() == [[0, 2, 1, 1], [0, 2, 1, 2], [0, 0, 0, 0]]
    np.testing.assert_allclose(found.share, [0.5, 0.6, 0])
    assert find_smallest_areas(p_RN[0], grid, 0.9).area.tolist() == [0, 0, 1, 5]
    assert find_smallest_areas(p_RN[0], grid, 1.0).area.tolist() == [0, 0, 1, 6]


@pytest.mark.parametrize("items", [3, 7, 10, 400])
@pytest.mark.parametrize("mass", [0.1, 0.3, 0.5, 0.6, 0.7, 0.9])
def test_equal_shares_are_counted_without_rounding(items: int, mass: float) -> None:
    """Rounding of floats must not change the count.

    Seven of ten equal shares hold 0.7, and the first seven items are chosen.
    """
    p_N = np.full(items, np.float32(1 / items))
    needed = next(n for n in range(1, items + 1) if Fraction(n, items) >= Fraction(str(mass)))
    assert find_smallest_areas(p_N, AreaGrid(1, items, 1, 1), mass).area.tolist() == [
        0,
        0,
        1,
        needed,
    ]


def test_grid_ties_prefer_flatter_upper_left_area() -> None:
    grid = AreaGrid(3, 3, 1, 1)
    assert find_smallest_areas(np.ones(9, np.float32), grid, 2 / 9).area.tolist() == [0, 0, 1, 2]
    corner = np.array([0, 0, 0, 0, 1, 1, 0, 1, 0], np.float32)  # a row and a column of two
    assert find_smallest_areas(corner, grid, 2 / 3).area.tolist() == [1, 1, 1, 2]


def test_densest_areas_of_rows_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    p_RN = np.random.default_rng(0).exponential(1, (2, 5, 12)).astype(np.float32)
    grid = AreaGrid(3, 4, 1, 1)
    alone = [find_smallest_areas(row, grid).area for row in p_RN.reshape(-1, 12)]
    monkeypatch.setattr(areas, "CHUNK", 24)
    np.testing.assert_array_equal(find_smallest_areas(p_RN, grid).area.reshape(-1, 4), alone)


@pytest.mark.parametrize("mass", [0, -0.5, 1.01, np.nan])
def test_mass_outside_range_is_refused(mass: float) -> None:
    with pytest.raises(ValueError, match="mass of a densest area"):
        find_smallest_areas(np.ones(3, np.float32), AreaGrid(1, 3, 1, 1), mass)


@pytest.mark.parametrize("broken", [np.nan, np.inf, -0.1])
def test_invalid_shares_are_refused(broken: float) -> None:
    with pytest.raises(ValueError, match="below 0 or not a finite number"):
        find_smallest_areas(np.array([0.5, broken, 0.5], np.float32), AreaGrid(1, 3, 1, 1))


def test_no_rows_give_no_areas() -> None:
    assert find_smallest_areas(np.zeros((0, 3), np.float32), AreaGrid(1, 3, 1, 1)).area.shape == (
        0,
        4,
    )

"""The algebra of areas compared with slow, literal versions.

The slow versions handle one row, one area and one item at a time.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace import areas as rivals
from areaviz.trace import areas as weights
from areaviz.trace.areas import Area, AreaGrid, FloatArray
from tests.trace.strategies import SOME, grids

OVERLAPS = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.7, 0.75, 1.0]) | st.floats(0, 1)


def items_of(area: Area, grid: AreaGrid) -> set[int]:
    rows, columns = (
        range(area.top, area.top + area.height),
        range(area.left, area.left + area.width),
    )
    return {row * grid.width + column for row in rows for column in columns}


def slow_iou(one: Area, other: Area, grid: AreaGrid) -> float:
    first, second = items_of(one, grid), items_of(other, grid)
    return len(first & second) / len(first | second)


def slow_top(
    row: list[float], areas: list[Area], grid: AreaGrid, k: int, max_overlap: float, least: int
) -> list[int]:
    """Go through the areas by weight and keep each one that hardly overlaps those kept before."""
    kept = list[int]()
    for index in sorted(range(len(row)), key=lambda index: (-row[index], index)):
        fits = all(slow_iou(areas[index], areas[other], grid) <= max_overlap for other in kept)
        if row[index] > 0 and areas[index].size >= least and fits and len(kept) < k:
            kept.append(index)
    return kept


@st.composite
def any_grids(draw: st.DrawFn) -> AreaGrid:
    """Draw a grid of any shape, or a longer sequence."""
    if draw(st.booleans()):
        return draw(grids(5))
    length = draw(st.integers(1, 24))
    return AreaGrid(1, length, 1, draw(st.integers(1, length)))


@st.composite
def rows_of(draw: st.DrawFn, entries: int, values: str = "any") -> FloatArray:
    """Draw rows of weights: any numbers, many equal numbers, sparse rows, or zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(
        st.sampled_from([(entries,), (1, entries), (4, entries), (2, 3, entries), (0, entries)])
    )
    kind = draw(st.sampled_from(["any", "ties", "sparse", "zeros"])) if values == "any" else values
    if kind == "ties":
        return rng.choice(np.array([0, 0.25, 0.5], np.float32), shape)
    found: FloatArray = rng.exponential(1, shape).astype(np.float32)
    share = {"any": 1.0, "sparse": 0.2, "zeros": 0.0}[kind]
    return found * (rng.random(shape) < share).astype(np.float32)


@pytest.fixture(params=["listed rivals", "every area"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with both ways to exclude overlapping areas.

    One looks up the listed rivals of a shape. The other computes the overlap with every area.
    """
    if request.param == "every area":
        monkeypatch.setattr(rivals, "MAX_LISTED_RIVALS", 0)


@pytest.mark.usefixtures("way")
@SOME
@given(st.data(), any_grids(), st.integers(0, 6), OVERLAPS, st.integers(1, 4))
def test_top_areas_are_ordered_by_weight(
    data: st.DataObject, grid: AreaGrid, k: int, max_overlap: float, least: int
) -> None:
    weights_RA = data.draw(rows_of(grid.count))
    found = weights.rank_areas(weights_RA, grid, k, max_overlap, least)
    assert found.index.shape == found.weight.shape == (*weights_RA.shape[:-1], k)
    assert found.index.dtype == np.int64 and found.weight.dtype == np.float32
    areas = [grid.area(index) for index in range(grid.count)]
    for row in np.ndindex(weights_RA.shape[:-1]):
        expected = slow_top(weights_RA[row].tolist(), areas, grid, k, max_overlap, least)
        missing = k - len(expected)
        assert found.index[row].tolist() == expected + [-1] * missing
        assert found.weight[row].tolist() == [weights_RA[row][i] for i in expected] + [0] * missing


def test_grids_with_many_shapes_match_full_comparison() -> None:
    wide = AreaGrid(1, 4096, 1, 16)
    assert rivals.can_list(wide) and rivals.can_list(AreaGrid(14, 14, 4, 4))
    large = AreaGrid(40, 40, 12, 12)
    assert not rivals.can_list(large)
    weights_RA = np.random.default_rng(0).exponential(1, (2, large.count)).astype(np.float32)
    found = weights.rank_areas(weights_RA, large, 3)
    for row in range(2):
        first, second, third = (large.area(index) for index in found.index[row].tolist())
        assert (
            max(
                slow_iou(first, second, large),
                slow_iou(first, third, large),
                slow_iou(second, third, large),
            )
            <= 0.5
        )
    np.testing.assert_array_equal(found.index[:, 0], weights_RA.argmax(1))


@SOME
@given(st.data(), any_grids(), st.integers(0, 5), OVERLAPS)
def test_listed_areas_are_ranked_like_grid_areas(
    data: st.DataObject, grid: AreaGrid, k: int, max_overlap: float
) -> None:
    weights_RA = data.draw(rows_of(grid.count))
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, grid.count - 1), min_size=1))))
    found = weights.rank_listed(weights_RA[..., chosen], grid.table()[chosen], k, max_overlap)
    areas = [grid.area(index) for index in chosen.tolist()]
    for row in np.ndindex(weights_RA.shape[:-1]):
        expected = slow_top(weights_RA[row][chosen].tolist(), areas, grid, k, max_overlap, 1)
        assert found.index[row].tolist() == expected + [-1] * (k - len(expected))


def test_areas_that_overlap_by_the_limit_are_both_listed() -> None:
    # The first item and the first two items: 1 of 2 items is in both.
    grid = AreaGrid(1, 2, 1, 2)
    weights_RA = np.array([[0.5, 0.1, 0.4]], np.float32)
    assert weights.rank_listed(weights_RA, grid.table(), 2, 0.5).index.tolist() == [[0, 2]]
    assert weights.rank_listed(weights_RA, grid.table(), 2, 0.49).index.tolist() == [[0, 1]]


def test_many_rows_equal_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    grid, rng = AreaGrid(1, 12, 1, 4), np.random.default_rng(1)
    weights_HQA = rng.exponential(1, (3, 50, grid.count)).astype(np.float32)
    alone = [weights.rank_areas(row, grid, 4).index for row in weights_HQA.reshape(-1, grid.count)]
    covered = [weights.sum_coverage(row, grid) for row in weights_HQA.reshape(-1, grid.count)]
    monkeypatch.setattr(weights, "CHUNK", 4 * grid.count)
    monkeypatch.setattr(weights.os, "cpu_count", lambda: 3)
    for given_HQA in (weights_HQA, np.asfortranarray(weights_HQA), weights_HQA[:, ::-1][:, ::-1]):
        index = weights.rank_areas(given_HQA, grid, 4).index
        np.testing.assert_array_equal(index.reshape(-1, 4), alone)
        np.testing.assert_array_equal(
            weights.sum_coverage(given_HQA, grid).reshape(-1, 12), covered
        )


@SOME
@given(st.data(), st.integers(1, 30), st.integers(0, 8))
def test_largest_equals_stable_sort(data: st.DataObject, entries: int, k: int) -> None:
    values_RN = data.draw(rows_of(entries))
    found = weights.largest_entries(values_RN, k)
    for row in np.ndindex(values_RN.shape[:-1]):
        order = np.argsort(-values_RN[row], kind="stable")[:k]
        expected = [index for index in order.tolist() if values_RN[row][index] > 0]
        assert found.index[row].tolist() == expected + [-1] * (k - len(expected))
        assert found.weight[row].tolist() == [values_RN[row][i] for i in expected] + [0] * (
            k - len(expected)
        )


@SOME
@given(st.data(), any_grids())
def test_coverage_adds_up_areas_containing_an_item(data: st.DataObject, grid: AreaGrid) -> None:
    weights_RA = data.draw(rows_of(grid.count))
    expected = np.zeros((*weights_RA.shape[:-1], grid.items))
    for index in range(grid.count):
        for item in items_of(grid.area(index), grid):
            expected[..., item] += weights_RA[..., index]
    covered = weights.sum_coverage(weights_RA, grid)
    assert covered.dtype == np.float32
    np.testing.assert_allclose(covered, expected, rtol=1e-5)
    shares = weights.coverage_shares(covered)
    attended = weights_RA.any(-1)
    np.testing.assert_allclose(shares.sum(-1), attended.astype(float), atol=1e-5)
    np.testing.assert_allclose(shares * covered.sum(-1, keepdims=True), covered, rtol=1e-4)


@SOME
@given(st.data(), any_grids())
def test_area_sums_add_up_items_of_each_area(data: st.DataObject, grid: AreaGrid) -> None:
    weights_RN = data.draw(rows_of(grid.items))
    sums = weights.area_sums(weights_RN, grid)
    assert sums.dtype == np.float32 and sums.shape == (*weights_RN.shape[:-1], grid.count)
    for index in range(grid.count):
        items = sorted(items_of(grid.area(index), grid))
        np.testing.assert_allclose(
            sums[..., index], weights_RN[..., items].sum(-1, dtype=np.float64), rtol=1e-5
        )


@SOME
@given(st.data(), any_grids())
def test_sums_and_coverage_are_transposes(data: st.DataObject, grid: AreaGrid) -> None:
    """The operators are adjoint: `<w, S p> = <S' w, p>`, with sums S and coverage S'."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    weights_A, p_N = (
        rng.random(grid.count).astype(np.float32),
        rng.random(grid.items).astype(np.float32),
    )
    assert weights_A @ weights.area_sums(p_N, grid) == pytest.approx(
        weights.sum_coverage(weights_A, grid) @ p_N, rel=1e-4
    )


@SOME
@given(any_grids(), st.data())
def test_overlap_is_intersection_over_union_of_items(grid: AreaGrid, data: st.DataObject) -> None:
    table_A4 = grid.table()
    one = data.draw(st.integers(0, grid.count - 1))
    found = weights.iou(table_A4[one], table_A4)
    assert found.tolist() == [
        slow_iou(grid.area(one), grid.area(other), grid) for other in range(grid.count)
    ]
    some = table_A4[:7]
    np.testing.assert_array_equal(
        weights.iou(some[:, None], table_A4), [weights.iou(row, table_A4) for row in some]
    )


@pytest.mark.parametrize("grid", [AreaGrid(1, 6, 1, 3), AreaGrid(2, 3, 2, 2)])
def test_nan_is_never_hidden(grid: AreaGrid) -> None:
    weights_RA = np.full((2, grid.count), 0.1, np.float32)
    weights_RA[1, 2] = np.nan
    with pytest.raises(ValueError, match="not a number"):
        weights.rank_areas(weights_RA, grid, 1)
    with pytest.raises(ValueError, match="not a number"):
        weights.rank_listed(weights_RA, grid.table(), 1)
    with pytest.raises(ValueError, match="not a number"):
        weights.largest_entries(weights_RA, 1)
    covered = weights.sum_coverage(weights_RA, grid)
    assert np.isnan(covered[1, 2]) and not np.isnan(covered[0]).any()
    assert np.isnan(weights.coverage_shares(covered)[1]).all()
    sums = weights.area_sums(np.array([[np.nan] + [0.1] * (grid.items - 1)], np.float32), grid)
    held = [0 in items_of(grid.area(index), grid) for index in range(grid.count)]
    np.testing.assert_array_equal(np.isnan(sums[0]), held)


def test_row_without_weight_has_no_areas_or_shares() -> None:
    grid = AreaGrid(2, 2, 2, 2)
    nothing = np.zeros((1, grid.count), np.float32)
    assert weights.rank_areas(nothing, grid, 3).index.tolist() == [[-1, -1, -1]]
    assert not weights.coverage_shares(weights.sum_coverage(nothing, grid)).any()
    assert not weights.area_sums(nothing[:, :4], grid).any()

"""Pooling over areas: the papers' known answers, slow loops, and numbers whose sums cancel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.attention.keys import (
    AreaFeatures,
    box_moments,
    compute_area_std,
    pool_areas,
    pool_ending_areas,
)
from areaviz.trace.areas import Area, AreaGrid
from benchmarks.summed_table import table_sums
from tests import reference

SEQUENCE = torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
GRID = torch.arange(1.0, 7)[:, None]
TWICE = {
    "mean": SEQUENCE.tolist() + [[2, 3], [4, 5], [6, 7], [8, 9]] + [[3, 4], [5, 6], [7, 8]],
    "sum": SEQUENCE.tolist()
    + [[4, 6], [8, 10], [12, 14], [16, 18]]
    + [[9, 12], [15, 18], [21, 24]],
    "max": SEQUENCE.tolist() + [[3, 4], [5, 6], [7, 8], [9, 10]] + [[5, 6], [7, 8], [9, 10]],
}


@pytest.mark.parametrize("mode", TWICE)
def test_five_items_with_areas_up_to_three(mode: str) -> None:
    assert pool_areas(SEQUENCE[None], AreaGrid(1, 5, 1, 3), mode)[0].tolist() == TWICE[mode]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("mode", TWICE)
def test_incremental_areas_equal_whole_pooling_bit_for_bit(
    mode: str, most: int, dtype: torch.dtype
) -> None:
    items = torch.randn(2, 20, 4, generator=torch.Generator().manual_seed(1), dtype=dtype) * 1000
    ending = items[:, :0]
    for last in range(20):
        ending = pool_ending_areas(ending, items[:, last : last + 1], mode, most)
        grid = AreaGrid(1, last + 1, 1, min(most, last + 1))
        whole = pool_areas(items[:, : last + 1], grid, mode)
        at_end = [
            grid.index(Area(0, last + 1 - width, 1, width))
            for width in range(1, grid.max_width + 1)
        ]
        assert torch.equal(ending, whole[:, at_end])


def test_growing_sums_stay_exact_in_half_precision() -> None:
    items = torch.full((1, 12, 1), 0.1, dtype=torch.float16)
    ending = items[:, :0]
    for last in range(12):
        ending = pool_ending_areas(ending, items[:, last : last + 1], "sum", 12)
    assert torch.equal(
        ending.to(items.dtype)[0, -1], pool_areas(items, AreaGrid(1, 12, 1, 12), "sum")[0, -1]
    )


def test_standard_deviations_of_five_items() -> None:
    found = compute_area_std(SEQUENCE[None], AreaGrid(1, 5, 1, 3))[0]
    expected = torch.tensor([0.0] * 5 + [1.0] * 4 + [1.632993] * 3)[:, None].expand(-1, 2)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("pool", [lambda x, grid: pool_areas(x, grid, "sum"), table_sums])
def test_sums_of_a_grid_of_two_by_three(
    pool: Callable[[torch.Tensor, AreaGrid], torch.Tensor],
) -> None:
    found = pool(GRID[None], AreaGrid(2, 3, 2, 3))[0, :, 0]
    assert found.tolist() == [1, 2, 3, 4, 5, 6, 3, 5, 9, 11, 6, 15, 5, 7, 9, 12, 16, 21]


@given(height=st.integers(1, 4), width=st.integers(1, 6), data=st.data())
@settings(max_examples=40, deadline=None)
def test_every_pool_equals_slow_loops(height: int, width: int, data: st.DataObject) -> None:
    area = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    grid = AreaGrid(height, width, *area)
    torch.manual_seed(data.draw(st.integers(0, 99)))
    x = torch.randn(2, height * width, 3, dtype=torch.float64)
    memory = reference.areas(height, width, *area)
    pools: dict[str, Callable[..., torch.Tensor]] = {
        "mean": torch.mean,
        "sum": torch.sum,
        "max": torch.amax,
    }
    for mode, pool in pools.items():
        expected = torch.stack([pool(x[:, items], 1) for items in memory], 1)
        torch.testing.assert_close(pool_areas(x, grid, mode), expected)
    means, variances = box_moments(x, grid)
    torch.testing.assert_close(means, pool_areas(x, grid, "mean"))
    for r, items in enumerate(memory):
        np.testing.assert_allclose(variances[:, r], x[:, items].numpy().var(1), atol=1e-12)


def test_constant_memory_has_exactly_zero_spread() -> None:
    x, grid = torch.full((1, 512, 1), 1000.1), AreaGrid(1, 512, 1, 5)
    _, variance = box_moments(x, grid)
    assert variance.eq(0).all()
    sizes = torch.tensor(grid.sizes(), dtype=torch.float32)[:, None]
    naive = table_sums(x * x, grid) / sizes - (table_sums(x, grid) / sizes) ** 2
    assert naive.abs().max() > 1


def test_zero_spread_has_a_finite_gradient() -> None:
    x = torch.ones(1, 6, 2, requires_grad=True)
    compute_area_std(x, AreaGrid(1, 6, 1, 3)).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_area_features_follow_equation_nine() -> None:
    torch.manual_seed(0)
    grid, features, x = AreaGrid(2, 4, 2, 3), AreaFeatures(5, (2, 3)), torch.randn(2, 8, 5)
    found = features(x, grid)
    for r, items in enumerate(reference.areas(2, 4, 2, 3)):
        area = grid.area(r)
        shape = torch.cat(
            [
                features.height_embedding.weight[area.height - 1],
                features.width_embedding.weight[area.width - 1],
            ]
        )
        mean, std = x[:, items].mean(1), x[:, items].std(1, correction=0)
        parts = (
            mean @ features.mean.weight.T
            + std @ features.std.weight.T
            + shape @ features.shape.weight.T
        )
        torch.testing.assert_close(
            found[:, r], torch.relu(parts) @ features.down.weight.T, atol=1e-5, rtol=1e-4
        )

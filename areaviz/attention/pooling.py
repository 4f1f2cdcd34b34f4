"""Means, sums and maxima over every area of a memory, without a summed area table.

Shapes: N batch, H x W memory grid, M = H*W items, R areas, D trailing values (any meaning).

Areas are stored in slabs, one per area shape (see `areaviz.trace.areas`). Each slab follows from a
smaller one, U(h, w) = U(h-1, w) + row strip. This takes one addition per area. Large sums are never
subtracted, so nothing cancels, and a NaN affects only the areas that contain it. The functions
compute in the type of their inputs. `pool_areas` converts half precision to float32 first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from areaviz.trace.areas import AreaGrid


def count_area_items(grid: AreaGrid, like: Tensor) -> Tensor:
    """Return the number of items of each area: [R], in the type and on the device of `like`."""
    sizes = []
    for height, width in grid.shapes():
        _, rows, columns = grid.slab(height, width)
        sizes.append(like.new_full((rows * columns,), height * width))
    return torch.cat(sizes)


def expand_to_areas(shapes: Tensor, grid: AreaGrid) -> Tensor:
    """Expand one number per area shape to one per area: [..., S] -> [..., R]."""
    numbers = []
    for place, (height, width) in enumerate(grid.shapes()):
        _, rows, columns = grid.slab(height, width)
        numbers.append(shapes[..., place, None].expand(*shapes.shape[:-1], rows * columns))
    return torch.cat(numbers, -1)


def view_by_shape(x_NRD: Tensor, grid: AreaGrid) -> dict[tuple[int, int], Tensor]:
    """Return views of an area tensor by area shape: (h, w) -> [N, H-h+1, W-w+1, D]."""
    views = {}
    for height, width in grid.shapes():
        first, rows, columns = grid.slab(height, width)
        view = x_NRD[:, first : first + rows * columns]
        views[height, width] = view.unflatten(1, (rows, columns))
    return views


def apply_to_last_axis(
    box: Callable[[Tensor, AreaGrid], Tensor], x: Tensor, grid: AreaGrid
) -> Tensor:
    """Apply a box function to the last axis: [..., M] -> [..., R], or [..., R] -> [..., M]."""
    result: Tensor = box(x.flatten(0, -2).T[None], grid)[0].T.unflatten(0, x.shape[:-1])
    return result


def pool_areas(x: Tensor, grid: AreaGrid, mode: str) -> Tensor:
    """Pool a vector for every area: [..., M, D] -> [..., R, D]. The mode is mean, sum or max.

    Half-precision inputs are summed in float32 and rounded once. Areas of one item are the items
    themselves.
    """
    if grid.count == grid.items:
        return x
    pool = {"mean": box_mean, "sum": box_sum, "max": box_max}[mode]
    pooled_NRD = pool(x.flatten(0, -3).to(choose_sum_dtype(x.dtype)), grid)
    pooled: Tensor = pooled_NRD.unflatten(0, x.shape[:-2]).to(x.dtype)
    return pooled


def pool_ending_areas(before_NAD: Tensor, item_N1D: Tensor, mode: str, most: int) -> Tensor:
    """Pool the areas that end at the newest item of a sequence, shortest first: [..., A, D].

    Each of them is an area that ended at the previous item, extended by the new item. The values
    equal those of `pool_areas`. Sums stay in the type in which they are computed.

    Args:
        before_NAD: the areas that end at the previous item, [..., A, D]. At the beginning A is 0.
        item_N1D: the newest item, [..., 1, D].
        mode: mean, sum or max.
        most: largest number of items in an area.
    """
    item_N1D = item_N1D.to(choose_sum_dtype(item_N1D.dtype))
    shorter = before_NAD[..., : most - 1, :]
    count = shorter.shape[-2]
    if not count:
        return item_N1D
    if mode == "max":
        longer = torch.maximum(shorter, item_N1D)
    elif mode == "sum":
        longer = shorter + item_N1D
    else:
        sizes = torch.arange(2, count + 2, dtype=item_N1D.dtype, device=item_N1D.device)
        longer = torch.lerp(shorter, item_N1D, 1 / sizes[:, None])
    return torch.cat([item_N1D, longer], -2)


def choose_sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the type for sums: float32, or float64 for float64 inputs."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _iterate_growth(
    slab: Mapping[tuple[int, int], Tensor], grid: AreaGrid
) -> Iterator[tuple[tuple[int, int], Tensor, Tensor, int]]:
    """Yield for each shape the parts from which its areas are computed.

    Yields:
        The shape, the areas that are one row or column smaller, the strip to add to them, and the
        number of such strips in the shape. The caller may fill `slab` while iterating.
    """
    for h, w in grid.shapes():
        if h > 1:
            yield (h, w), slab[h - 1, w][:, :-1], slab[1, w][:, h - 1 :], h
        elif w > 1:
            yield (1, w), slab[1, w - 1][:, :, :-1], slab[1, 1][:, :, w - 1 :], w


def write_box(x_NMD: Tensor, out_NRD: Tensor, grid: AreaGrid, mean: bool) -> Tensor:
    """Write the mean or the sum of every area of `x` into `out`, and return `out`."""
    slab = view_by_shape(out_NRD, grid)
    slab[1, 1].copy_(x_NMD.unflatten(1, (grid.height, grid.width)))
    for shape, smaller, strip, strips in _iterate_growth(slab, grid):
        if mean:
            torch.lerp(smaller, strip, 1 / strips, out=slab[shape])
        else:
            torch.add(smaller, strip, out=slab[shape])
    return out_NRD


def box_scatter_(x_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Add each area's value to all its items, in place, and return a view [N, M, D] of `x`.

    This is the adjoint of the box sum. If `x` holds area weights, the result is the items'
    coverage.
    """
    slab = view_by_shape(x_NRD, grid)
    for w in range(1, grid.max_width + 1):
        for h in range(grid.max_height, 1, -1):
            slab[h - 1, w][:, :-1] += slab[h, w]
            slab[1, w][:, h - 1 :] += slab[h, w]
    for w in range(grid.max_width, 1, -1):
        slab[1, w - 1][:, :, :-1] += slab[1, w]
        slab[1, 1][:, :, w - 1 :] += slab[1, w]
    return x_NRD[:, : grid.items]


class _Box(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NMD: Tensor, grid: AreaGrid, mean: bool) -> Tensor:
        ctx.grid, ctx.mean = grid, mean
        out_NRD = x_NMD.new_empty(x_NMD.shape[0], grid.count, x_NMD.shape[2])
        return write_box(x_NMD, out_NRD, grid, mean)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        if ctx.mean:
            grad_NRD = grads[0] / count_area_items(ctx.grid, grads[0])[:, None]
        else:
            grad_NRD = grads[0].clone(memory_format=torch.contiguous_format)
        return box_scatter_(grad_NRD, ctx.grid), None, None


class _BoxScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NRD: Tensor, grid: AreaGrid) -> Tensor:
        ctx.grid = grid
        return box_scatter_(x_NRD.clone(memory_format=torch.contiguous_format), grid).clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (grad_NMD,) = grads
        out_NRD = grad_NMD.new_empty(grad_NMD.shape[0], ctx.grid.count, grad_NMD.shape[2])
        return write_box(grad_NMD, out_NRD, ctx.grid, mean=False), None


def box_mean(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the mean of every area (Eq. 3, Li et al. 2019): [N, M, D] -> [N, R, D]."""
    out: Tensor = _Box.apply(x_NMD, grid, True)  # type: ignore[no-untyped-call]
    return out


def box_sum(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the sum of every area (Eq. 4, Li et al. 2019): [N, M, D] -> [N, R, D]."""
    out: Tensor = _Box.apply(x_NMD, grid, False)  # type: ignore[no-untyped-call]
    return out


def box_scatter(x_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Add each area's value to all its items (the adjoint of `box_sum`): [N, R, D] -> [N, M, D]."""
    out: Tensor = _BoxScatter.apply(x_NRD, grid)  # type: ignore[no-untyped-call]
    return out


def box_max(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the elementwise maximum of every area (section 5, Li et al. 2019).

    [N, M, D] -> [N, R, D].
    """
    slab = {(1, 1): x_NMD.unflatten(1, (grid.height, grid.width))}
    for shape, smaller, strip, _ in _iterate_growth(slab, grid):
        slab[shape] = torch.maximum(smaller, strip)
    return torch.cat([area.flatten(1, 2) for area in slab.values()], 1)


def box_moments(x_NMD: Tensor, grid: AreaGrid) -> tuple[Tensor, Tensor]:
    """Compute the mean and variance of every area (Eq. 3, 5): two of [N, R, D].

    Areas grow by Chan's merge of (count, mean, sum of squared deviations), first along the width,
    then along the height. The variance is never negative, and a constant memory has variance
    exactly 0.
    """
    mean_NHWD = x_NMD.unflatten(1, (grid.height, grid.width))
    strips = {1: (mean_NHWD, torch.zeros_like(mean_NHWD))}
    for w in range(2, grid.max_width + 1):
        mean, square = strips[w - 1]
        delta = mean_NHWD[:, :, w - 1 :] - mean[:, :, :-1]
        strips[w] = (mean[:, :, :-1] + delta / w, square[:, :, :-1] + delta**2 * ((w - 1) / w))
    areas = {(1, w): strip for w, strip in strips.items()}
    for h, w in grid.shapes():
        if h == 1:
            continue
        (mean, square), (row_mean, row_square) = areas[h - 1, w], strips[w]
        delta = row_mean[:, h - 1 :] - mean[:, :-1]
        merged = square[:, :-1] + row_square[:, h - 1 :] + delta**2 * (w * (h - 1) / h)
        areas[h, w] = (mean[:, :-1] + delta / h, merged)
    ordered = [(areas[shape], shape[0] * shape[1]) for shape in grid.shapes()]
    means = torch.cat([mean.flatten(1, 2) for (mean, _), _ in ordered], 1)
    return means, torch.cat([(square / size).flatten(1, 2) for (_, square), size in ordered], 1)

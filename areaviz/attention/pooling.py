"""Pooling over every area of a memory, without a summed area table.

Shapes: N batch, H x W memory grid, M = H*W items, R areas, D trailing values (any meaning).
Areas lie in size-major slabs (see `areaviz.trace.areas`). Each slab follows from the one before it,
U(h, w) = U(h-1, w) + row strip: one addition an area, no differences of large sums, so nothing
cancels and a NaN stays inside the areas that hold it. The functions compute in the type they are
given; `area_pool` widens half precision to float32 first.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from areaviz.trace.areas import AreaGrid


def area_sizes(grid: AreaGrid, like: Tensor) -> Tensor:
    """How many items each area holds: [R], in the type and on the device of `like`."""
    return torch.as_tensor(grid.sizes(), dtype=like.dtype, device=like.device)


def per_area(shapes: Tensor, grid: AreaGrid) -> Tensor:
    """A number for each shape of an area as one for each area: [..., S] -> [..., R]."""
    places = [grid.slab(h, w)[1] * grid.slab(h, w)[2] for h, w in grid.shapes()]
    return shapes.repeat_interleave(torch.tensor(places, device=shapes.device), -1)


def slabs(x_NRD: Tensor, grid: AreaGrid) -> dict[tuple[int, int], Tensor]:
    """Views of an area tensor by area shape: (h, w) -> [N, H-h+1, W-w+1, D]."""
    views = {}
    for height, width in grid.shapes():
        first, rows, columns = grid.slab(height, width)
        view = x_NRD[:, first : first + rows * columns]
        views[height, width] = view.unflatten(1, (rows, columns))
    return views


def area_pool(x: Tensor, grid: AreaGrid, mode: str) -> Tensor:
    """Pool a vector for every area: [..., M, D] -> [..., R, D]; mode is mean, sum or max.

    Half-precision sums are taken in float32 and rounded once. Areas of one item are the items
    themselves.
    """
    if grid.count == grid.items:
        return x
    pool = {"mean": box_mean, "sum": box_sum, "max": box_max}[mode]
    pooled: Tensor = (
        pool(x.flatten(0, -3).to(wide(x.dtype)), grid).unflatten(0, x.shape[:-2]).to(x.dtype)
    )
    return pooled


def pooled_ending(before_NAD: Tensor, item_N1D: Tensor, mode: str, most: int) -> Tensor:
    """Pool the areas that end at the newest item of a sequence, shortest first: [..., at most
    `most`, D].

    before_NAD: the same of the item before, [..., A, D]; none where the sequence begins. Each is
    the one that is an item shorter and ended there, with one item more, as `area_pool` makes it;
    sums stay in the type they are taken in.
    """
    item_N1D, shorter = item_N1D.to(wide(item_N1D.dtype)), before_NAD[..., : most - 1, :]
    if not shorter.shape[-2]:
        return item_N1D
    if mode == "max":
        longer = torch.maximum(shorter, item_N1D)
    elif mode == "sum":
        longer = shorter + item_N1D
    else:
        sizes = torch.arange(2, shorter.shape[-2] + 2, dtype=item_N1D.dtype, device=item_N1D.device)
        longer = torch.lerp(shorter, item_N1D, 1 / sizes[:, None])
    return torch.cat([item_N1D, longer], -2)


def wide(dtype: torch.dtype) -> torch.dtype:
    """The type sums are taken in: float32, or float64 for float64 inputs."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def box_mean_into(x_NMD: Tensor, out_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Write the mean of every area of `x` into `out` as running means, and return `out`."""
    x_NHWD, slab = x_NMD.unflatten(1, (grid.height, grid.width)), slabs(out_NRD, grid)
    slab[1, 1].copy_(x_NHWD)
    for h, w in grid.shapes():
        if h > 1:
            torch.lerp(slab[h - 1, w][:, :-1], slab[1, w][:, h - 1 :], 1 / h, out=slab[h, w])
        elif w > 1:
            torch.lerp(slab[1, w - 1][:, :, :-1], x_NHWD[:, :, w - 1 :], 1 / w, out=slab[1, w])
    return out_NRD


def box_sum_into(x_NMD: Tensor, out_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Write the sum of every area of `x` into `out` and return `out`."""
    x_NHWD, slab = x_NMD.unflatten(1, (grid.height, grid.width)), slabs(out_NRD, grid)
    slab[1, 1].copy_(x_NHWD)
    for h, w in grid.shapes():
        if h > 1:
            torch.add(slab[h - 1, w][:, :-1], slab[1, w][:, h - 1 :], out=slab[h, w])
        elif w > 1:
            torch.add(slab[1, w - 1][:, :, :-1], x_NHWD[:, :, w - 1 :], out=slab[1, w])
    return out_NRD


def box_scatter_(x_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Add each area's value to all its items (the adjoint of the box sum), in place: view [N, M,
    D].

    With area weights as `x` this is the item-level coverage.
    """
    slab = slabs(x_NRD, grid)
    for w in range(1, grid.max_width + 1):
        for h in range(grid.max_height, 1, -1):
            slab[h - 1, w][:, :-1] += slab[h, w]
            slab[1, w][:, h - 1 :] += slab[h, w]
    for w in range(grid.max_width, 1, -1):
        slab[1, w - 1][:, :, :-1] += slab[1, w]
        slab[1, 1][:, :, w - 1 :] += slab[1, w]
    return x_NRD[:, : grid.items]


class _BoxMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NMD: Tensor, grid: AreaGrid) -> Tensor:
        ctx.grid = grid
        return box_mean_into(
            x_NMD, x_NMD.new_empty(x_NMD.shape[0], grid.count, x_NMD.shape[2]), grid
        )

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        per_item_NRD = grad[0] / area_sizes(ctx.grid, grad[0])[:, None]
        return box_scatter_(per_item_NRD, ctx.grid), None


class _BoxSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NMD: Tensor, grid: AreaGrid) -> Tensor:
        ctx.grid = grid
        return box_sum_into(
            x_NMD, x_NMD.new_empty(x_NMD.shape[0], grid.count, x_NMD.shape[2]), grid
        )

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        return box_scatter_(grad[0].clone(memory_format=torch.contiguous_format), ctx.grid), None


class _BoxScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NRD: Tensor, grid: AreaGrid) -> Tensor:
        ctx.grid = grid
        return box_scatter_(x_NRD.clone(memory_format=torch.contiguous_format), grid).clone()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        out_NRD = grad[0].new_empty(grad[0].shape[0], ctx.grid.count, grad[0].shape[2])
        return box_sum_into(grad[0], out_NRD, ctx.grid), None


def box_mean(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """The mean of every area (Eq. 3, Li et al. 2019): [N, M, D] -> [N, R, D]."""
    out: Tensor = _BoxMean.apply(x_NMD, grid)  # type: ignore[no-untyped-call]
    return out


def box_sum(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """The sum of every area (Eq. 4, Li et al. 2019): [N, M, D] -> [N, R, D]."""
    out: Tensor = _BoxSum.apply(x_NMD, grid)  # type: ignore[no-untyped-call]
    return out


def box_scatter(x_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Add each area's value to all its items (the adjoint of `box_sum`): [N, R, D] -> [N, M, D]."""
    out: Tensor = _BoxScatter.apply(x_NRD, grid)  # type: ignore[no-untyped-call]
    return out


def box_max(x_NMD: Tensor, grid: AreaGrid) -> Tensor:
    """The elementwise maximum of every area (section 5, Li et al. 2019): [N, M, D] -> [N, R, D]."""
    x_NHWD = x_NMD.unflatten(1, (grid.height, grid.width))
    slab: dict[tuple[int, int], Tensor] = {(1, 1): x_NHWD}
    for h, w in grid.shapes():
        if h > 1:
            slab[h, w] = torch.maximum(slab[h - 1, w][:, :-1], slab[1, w][:, h - 1 :])
        elif w > 1:
            slab[1, w] = torch.maximum(slab[1, w - 1][:, :, :-1], x_NHWD[:, :, w - 1 :])
    return torch.cat([area.flatten(1, 2) for area in slab.values()], 1)


def box_moments(x_NMD: Tensor, grid: AreaGrid) -> tuple[Tensor, Tensor]:
    """Mean and variance of every area (Eq. 3, 5): two of [N, R, D]; the variance is never negative.

    Areas grow by Chan's merge of (count, mean, sum of squared deviations), first along the width,
    then along the height, so a constant memory has variance exactly 0.
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

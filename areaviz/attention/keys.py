"""The keys of areas: pooled means and sums, learned features, and boundary keys.

Pooling comes first, and the other two sections build on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from areaviz.trace.areas import AreaGrid

# Means, sums and maxima over every area of a memory, without a summed area table.
#
# Shapes: N batch, H x W memory grid, M = H*W items, R areas, D trailing values (any meaning).
#
# Areas are stored in slabs, one per area shape (see `areaviz.trace.areas`). Each slab follows from
# a smaller one, U(h, w) = U(h-1, w) + row strip. This takes one addition per area. Large sums are
# never subtracted, so nothing cancels, and a NaN affects only the areas that contain it. The
# functions compute in the type of their inputs. `pool_areas` converts half precision to float32
# first.


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


# Learned area keys from several features (Eq. 5-9, Li et al. 2019), and mixed keys.
#
# Shapes: [...] batch and heads, M items, R areas, D width of a key (of one head).


class ShapeEmbedding(nn.Module):
    """The key of an area's shape (Eq. 6-8): e W_e, e = [height embedding, width embedding].

    Args:
        width: D. Each embedding has half of this width.
        max_area: largest (height, width) of an area, in items.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        super().__init__()
        depth = max(1, width // 2)
        self.height_embedding = nn.Embedding(max_area[0], depth)
        self.width_embedding = nn.Embedding(max_area[1], depth)
        self.shape = nn.Linear(2 * depth, width, bias=False)

    def embed_shapes(self, grid: AreaGrid) -> Tensor:
        """Return one vector per area shape of the grid, in the order of the shapes: [shapes, D].

        Raises:
            ValueError: if an area of the grid is larger than `max_area`.
        """
        height, width = self.height_embedding.num_embeddings, self.width_embedding.num_embeddings
        if grid.max_height > height or grid.max_width > width:
            raise ValueError(
                f"Areas go up to {grid.max_height}x{grid.max_width} but these keys know"
                f" shapes up to {height}x{width}. Choose a smaller area size."
            )
        # This is the order of `AreaGrid.shapes`, in which the width changes fastest.
        device = self.shape.weight.device
        height_S = torch.arange(grid.max_height, device=device).repeat_interleave(grid.max_width)
        width_S = torch.arange(grid.max_width, device=device).repeat(grid.max_height)
        embedded = [self.height_embedding(height_S), self.width_embedding(width_S)]
        projected: Tensor = self.shape(torch.cat(embedded, 1))
        return projected


class AreaFeatures(ShapeEmbedding):
    """Area keys from mean, deviation and shape (Eq. 9): relu(mean W_mu + std W_sigma + e W_e) W_d.

    All heads share the parameters, which act on the last axis. Inputs are cast to the parameters'
    type, and results are cast back to the type of the key or query.

    Args:
        width: D. Each embedding has half of this width.
        max_area: largest (height, width) of an area, in items.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        super().__init__(width, max_area)
        self.mean = nn.Linear(width, width, bias=False)
        self.std = nn.Linear(width, width, bias=False)
        self.down = nn.Linear(width, width, bias=False)

    def forward(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """Compute the key of every area (Eq. 9): [..., M, D] -> [..., R, D]."""
        area_key: Tensor = self.down(self.compute_hidden_keys(key, grid).to(self.down.weight.dtype))
        return area_key.to(key.dtype)

    def compute_hidden_keys(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """Compute the area keys before W_d: [..., M, D] -> [..., R, D].

        The projection of the mean is linear, so it is applied to the items before pooling: there
        are fewer items than areas.

        Raises:
            ValueError: if an area of the grid is larger than `max_area`.
        """
        own = self.mean.weight.dtype
        mean_RD = box_mean(_flatten_rows(self.mean(key.to(own))), grid).unflatten(0, key.shape[:-2])
        std_RD = compute_area_std(key, grid).to(own)
        shape_RD = expand_to_areas(self.embed_shapes(grid).T, grid).T
        return torch.relu(mean_RD.to(own) + self.std(std_RD) + shape_RD).to(key.dtype)

    def fold_query(self, query: Tensor) -> Tensor:
        """Apply W_d to the query instead of the keys: [..., Q, D] -> [..., Q, D].

        This gives equal logits, since q . (x W_d) = (q W_d^T) . x.
        """
        weight = self.down.weight
        return (query.to(weight.dtype) @ weight).to(query.dtype)


def compute_area_std(x: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the standard deviation of every area (Eq. 5): [..., M, D] -> [..., R, D].

    The result is float32 or wider. Where the variance is 0, the square root has no gradient, so 0
    is used.
    """
    _, variance_NRD = box_moments(_flatten_rows(x), grid)
    varied = variance_NRD > 0
    std_NRD = torch.where(varied, variance_NRD, 1.0).sqrt()
    return torch.where(varied, std_NRD, 0.0).view(*x.shape[:-2], grid.count, x.shape[-1])


def _flatten_rows(x: Tensor) -> Tensor:
    return x.flatten(0, -3).to(choose_sum_dtype(x.dtype))


class NeighbourConvolution(nn.Module):
    """A depthwise convolution that mixes neighbouring keys and values: out = x + conv(x).

    It is the control for area attention: it shows the gain from neighbours without any areas (So et
    al. 2021, Primer, section 4). It starts as the identity, so training starts from plain
    attention.

    Args:
        width: W, the number of channels, each with its own taps.
        taps: number of items in a window. It must be odd. On a grid, a window has as many rows as
            columns.
        shape: rows and columns of the memory. None for a sequence of any length.
    """

    def __init__(self, width: int, taps: int, shape: tuple[int, int] | None = None) -> None:
        super().__init__()
        if taps % 2 == 0:
            raise ValueError(
                f"A convolution needs an odd number of taps, so that it has a centre; got {taps}."
            )
        self.taps, self.shape = taps, shape
        self.weight = nn.Parameter(torch.zeros(width, 1, 1 if shape is None else taps, taps))

    def forward(self, x_BMW: Tensor, is_causal: bool = False) -> Tensor:
        """Mix neighbouring items: [B, M, W] -> [B, M, W].

        A window is centred on its item or, with `is_causal`, ends at it.
        """
        rows, columns = self.shape or (1, x_BMW.shape[1])
        x_BWHV = x_BMW.transpose(1, 2).unflatten(2, (rows, columns))
        half = self.taps // 2
        down = 0 if self.shape is None else half
        left, right = (self.taps - 1, 0) if is_causal else (half, half)
        padded = F.pad(x_BWHV, (left, right, down, down))
        mixed_BWHV = F.conv2d(padded, self.weight, groups=self.weight.shape[0])
        return x_BMW + mixed_BWHV.flatten(2).transpose(1, 2)


# Boundary keys, which are keys of an area's first and last item and of its shape.
#
# With mean keys (Eq. 3, Li et al. 2019) the unnormalised weight of an area is the geometric mean of
# its items' weights, so a span can at best tie with its best item. Boundary keys, introduced by
# this project, let a span outweigh each of its items. They add one term for the first item as the
# beginning of an area, one for the last item as its end, and one for the area's shape:
#
#     logit(area) = q . mean(k) + q . start(k_first) + q . end(k_last) + q . e(h, w)
#
# On a grid, the first and last items are the top left and bottom right cells. The sum is linear in
# terms per item and per shape, so no key per area is needed. Shapes: [...] batch and heads, N rows
# (batch and heads together), Q queries, M items, R areas, S area shapes in the order of
# `AreaGrid.shapes`, E key width.


class BoundaryKeys(ShapeEmbedding):
    """The parameters of boundary keys, shared by all heads: they act on the last axis.

    Args:
        width: E, the key width of one head.
        max_area: largest (height, width) of an area, in items.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        super().__init__(width, max_area)
        self.start = nn.Linear(width, width, bias=False)
        self.end = nn.Linear(width, width, bias=False)

    def forward(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """Compute the key of every area: [..., M, E] -> [..., R, E]."""
        key_NME = key.to(self.start.weight.dtype).flatten(0, -3)
        first, last = self.start(key_NME), self.end(key_NME)
        shapes_SE = self.embed_shapes(grid).expand(key_NME.shape[0], -1, -1)
        area_key = compute_area_logits(AreaScores(key_NME, first, last, shapes_SE), grid)
        result: Tensor = area_key.unflatten(0, key.shape[:-2]).to(key.dtype)
        return result

    def compute_edge_keys(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """Compute each item's keys as the first and as the last of an area: two of [..., M, E]."""
        own = key.to(self.start.weight.dtype)
        return self.start(own).to(key.dtype), self.end(own).to(key.dtype)


class AreaScores(NamedTuple):
    """The terms of an area's logit, for D trailing values: queries, or the channels of a key."""

    # [N, M, D]: averaged over the area.
    mean: Tensor
    # [N, M, D] each: taken at the area's first and last item. Both or neither are given.
    first: Tensor | None = None
    last: Tensor | None = None
    # [N or 1, S, D or 1]: added according to the area's height and width.
    shape: Tensor | None = None


def compute_area_logits(scores: AreaScores, grid: AreaGrid) -> Tensor:
    """Compute mean over the area + first + last + shape, for every area: [N, R, D]."""
    if scores.first is None and scores.shape is None:
        return box_mean(scores.mean, grid)
    result: Tensor = _AreaLogits.apply(*scores, grid)  # type: ignore[no-untyped-call]
    return result


def write_area_logits(scores: AreaScores, out_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the logits of `compute_area_logits`, write them into `out_NRD` and return it."""
    mean, first, last, shape = scores
    write_box(mean, out_NRD, grid, mean=True)
    memory = (grid.height, grid.width)
    for index, ((h, w), slab) in enumerate(view_by_shape(out_NRD, grid).items()):
        if first is not None and last is not None:
            slab += first.unflatten(1, memory)[:, : grid.height - h + 1, : grid.width - w + 1]
            slab += last.unflatten(1, memory)[:, h - 1 :, w - 1 :]
        if shape is not None:
            slab += shape[:, index, None, None]
    return out_NRD


def compute_area_logit_gradients(
    grad_NRD: Tensor, grid: AreaGrid
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Compute the gradients of the terms from the gradients of the area logits.

    Returns:
        The gradients of mean, first and last [N, M, D] and of shape [N, S, D].
    """
    rows, _, depth = grad_NRD.shape
    first = grad_NRD.new_zeros(rows, grid.height, grid.width, depth)
    last = torch.zeros_like(first)
    shape = grad_NRD.new_empty(rows, grid.max_height * grid.max_width, depth)
    for index, ((h, w), slab) in enumerate(view_by_shape(grad_NRD, grid).items()):
        first[:, : grid.height - h + 1, : grid.width - w + 1] += slab
        last[:, h - 1 :, w - 1 :] += slab
        shape[:, index] = slab.sum((1, 2))
    mean = box_scatter_(grad_NRD / count_area_items(grid, grad_NRD)[:, None], grid)
    return mean, first.flatten(1, 2), last.flatten(1, 2), shape


class _AreaLogits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *parts: Any) -> Tensor:
        *terms, grid = parts
        scores = AreaScores(*terms)
        ctx.grid = grid
        ctx.shapes = [None if part is None else part.shape for part in scores]
        rows, _, depth = scores.mean.shape
        return write_area_logits(scores, scores.mean.new_empty(rows, grid.count, depth), grid)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NRD: Tensor) -> tuple[Tensor | None, ...]:
        grads: list[Tensor | None] = []
        for part, shape in zip(
            compute_area_logit_gradients(grad_NRD, ctx.grid), ctx.shapes, strict=True
        ):
            grads.append(None if shape is None else part.sum_to_size(shape))
        return (*grads, None)

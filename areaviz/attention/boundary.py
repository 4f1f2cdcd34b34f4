"""Boundary keys, which are keys of an area's first and last item and of its shape.

With mean keys (Eq. 3, Li et al. 2019) the unnormalised weight of an area is the geometric mean of
its items' weights, so a span can at best tie with its best item. Boundary keys, introduced by this
project, let a span outweigh each of its items. They add one term for the first item as the
beginning of an area, one for the last item as its end, and one for the area's shape:

    logit(area) = q . mean(k) + q . start(k_first) + q . end(k_last) + q . e(h, w)

On a grid, the first and last items are the top left and bottom right cells. The sum is linear in
terms per item and per shape, so no key per area is needed. Shapes: [...] batch and heads, N rows
(batch and heads together), Q queries, M items, R areas, S area shapes in the order of
`AreaGrid.shapes`, E key width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from areaviz.attention.features import ShapeEmbedding
from areaviz.attention.pooling import (
    box_mean,
    box_scatter_,
    count_area_items,
    view_by_shape,
    write_box,
)
from areaviz.trace.areas import AreaGrid


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

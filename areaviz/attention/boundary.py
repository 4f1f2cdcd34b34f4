"""Keys that know where an area begins and ends, so that a span can outweigh each of its items.

With mean keys (Eq. 3, Li et al. 2019) the unnormalised weight of an area is the geometric mean of
its items' weights: a span ties with its best item at most. Boundary keys, this project's own, add
what the first item says as a beginning, what the last says as an end, and the area's shape:

    logit(area) = q . mean(k) + q . start(k_first) + q . end(k_last) + q . e(h, w)

On a grid the first and last items are the top left and bottom right cells. The sum is linear in
numbers per item and per shape, so no area key has to be made. Shapes: [...] batch and heads, N rows
(batch and heads together), Q queries, M items, R areas, S area shapes in the order of
`AreaGrid.shapes`, E key width.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from areaviz.attention.features import ShapeEmbedding
from areaviz.attention.pooling import area_sizes, box_mean, box_mean_into, box_scatter_, slabs
from areaviz.trace.areas import AreaGrid


class BoundaryKeys(ShapeEmbedding):
    """The parameters of boundary keys, shared over heads: they act on the last axis, whatever lies
    before it.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        """Make the weights.

        Args:
            width: E, of the key of one head.
            max_area: largest (height, width) an area can have, in items.
        """
        super().__init__(width, max_area)
        self.start = nn.Linear(width, width, bias=False)
        self.end = nn.Linear(width, width, bias=False)

    def forward(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """The key of every area: [..., M, E] -> [..., R, E]."""
        own = self.start.weight.dtype
        key_NME = key.to(own).flatten(0, -3)
        first, last = self.start(key_NME), self.end(key_NME)
        shapes_SE = self.per_shape(grid).expand(key_NME.shape[0], -1, -1)
        area_key = area_logits(AreaScores(key_NME, first, last, shapes_SE), grid)
        result: Tensor = area_key.unflatten(0, key.shape[:-2]).to(key.dtype)
        return result

    def edges(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """What each item says as the first and as the last of an area: two of [..., M, E]."""
        own = key.to(self.start.weight.dtype)
        return self.start(own).to(key.dtype), self.end(own).to(key.dtype)


class AreaScores(NamedTuple):
    """What the logit of an area is the sum of, D trailing values: queries, or the channels of a
    key.

    mean [N, M, D]: the area's mean is taken. first, last [N, M, D]: of its first and last item;
    None for nothing. shape [N or 1, S, D or 1]: of its height and width; None for nothing.
    """

    mean: Tensor
    first: Tensor | None = None
    last: Tensor | None = None
    shape: Tensor | None = None


def area_logits(scores: AreaScores, grid: AreaGrid) -> Tensor:
    """mean over the area + first + last + shape, for every area: [N, R, D]."""
    if scores.first is None and scores.last is None and scores.shape is None:
        return box_mean(scores.mean, grid)
    result: Tensor = _AreaLogits.apply(*scores, grid)  # type: ignore[no-untyped-call]
    return result


def area_logits_into(scores: AreaScores, out_NRD: Tensor, grid: AreaGrid) -> Tensor:
    """The same, written into `out_NRD`, which is returned."""
    box_mean_into(scores.mean, out_NRD, grid)
    memory = (grid.height, grid.width)
    first = None if scores.first is None else scores.first.unflatten(1, memory)
    last = None if scores.last is None else scores.last.unflatten(1, memory)
    for index, ((h, w), slab) in enumerate(slabs(out_NRD, grid).items()):
        if first is not None:
            slab += first[:, : grid.height - h + 1, : grid.width - w + 1]
        if last is not None:
            slab += last[:, h - 1 :, w - 1 :]
        if scores.shape is not None:
            slab += scores.shape[:, index, None, None]
    return out_NRD


def area_logits_adjoint(grad_NRD: Tensor, grid: AreaGrid) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of mean, first, last [N, M, D] and shape [N, S, D] from that of the logits [N,
    R, D].
    """
    rows, _, depth = grad_NRD.shape
    first, last = (grad_NRD.new_zeros(rows, grid.height, grid.width, depth) for _ in range(2))
    shape = grad_NRD.new_empty(rows, grid.max_height * grid.max_width, depth)
    for index, ((h, w), slab) in enumerate(slabs(grad_NRD, grid).items()):
        first[:, : grid.height - h + 1, : grid.width - w + 1] += slab
        last[:, h - 1 :, w - 1 :] += slab
        shape[:, index] = slab.sum((1, 2))
    mean = box_scatter_(grad_NRD / area_sizes(grid, grad_NRD)[:, None], grid)
    return mean, first.flatten(1, 2), last.flatten(1, 2), shape


class _AreaLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        first: Tensor | None,
        last: Tensor | None,
        shape: Tensor | None,
        grid: AreaGrid,
    ) -> Tensor:
        ctx.grid = grid
        ctx.shapes = [None if part is None else part.shape for part in (mean, first, last, shape)]
        out_NRD = mean.new_empty(mean.shape[0], grid.count, mean.shape[2])
        return area_logits_into(AreaScores(mean, first, last, shape), out_NRD, grid)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NRD: Tensor) -> tuple[Tensor | None, ...]:
        parts = area_logits_adjoint(grad_NRD, ctx.grid)
        kept = [
            None if shape is None else part.sum_to_size(shape)
            for part, shape in zip(parts, ctx.shapes, strict=True)
        ]
        return (*kept, None)

"""Blocks of area logits for keys with which an area can outweigh its items.

This is the case for boundary keys and for a size bias on mean keys. The largest item logit is then
no upper bound of the area logits. A block therefore holds the logits of all its areas and shifts
them by the largest one. Shapes: N rows (batch and heads), Q queries, M items, R areas, S area
shapes, E key width, V value width. A block holds n rows, q queries and K = n * q columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.blocks import LOG2_E, Block, Blocks, Outer, Problem
from areaviz.attention.boundary import (
    AreaScores,
    BoundaryKeys,
    compute_area_logit_gradients,
    write_area_logits,
)
from areaviz.attention.pooling import box_scatter_, count_area_items, write_box
from areaviz.attention.spec import AreaSpec
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class AreaTerms:
    """The terms of area logits, except the mean of the item logits. None if a term is missing."""

    # [N, M, E] each: keys of an item as the first and as the last item of an area.
    first: Tensor | None
    last: Tensor | None
    # [S, E]: keys of the area shapes. Present whenever `first` and `last` are.
    shape: Tensor | None
    # [N, S]: bias on the logits of each shape.
    bias: Tensor | None

    @classmethod
    def from_spec(cls, key: Tensor, spec: AreaSpec) -> AreaTerms:
        """Compute the terms that a spec defines from the keys [..., M, E] of the items."""
        first = last = shape = bias = None
        if isinstance(spec.features, BoundaryKeys):
            first, last = (x.flatten(0, -3) for x in spec.features.compute_edge_keys(key))
            shape = spec.features.embed_shapes(spec.grid)
        if spec.size_bias is not None:
            bias = spec.size_bias.expand(*key.shape[:-2], -1).flatten(0, -2)
        return cls(first, last, shape, bias)


class TermBlocks(Blocks):
    """Blocks that are small enough to hold the logits of all areas, and their gradients."""

    def __init__(self, problem: Problem, like: Tensor, gradient: bool, terms: AreaTerms) -> None:
        areas = problem.grid.max_height * problem.grid.max_width
        super().__init__(problem, like, live=(areas + 3) * (3 if gradient else 1))
        self.terms = terms

    def compute_coverage(
        self, block: Block, query: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the coverage of a block, see `Blocks`."""
        grid, logits_1RK = self._compute_area_logits(block, query, key)
        most_K = logits_1RK.amax(1)
        weights_1RK = logits_1RK.sub_(most_K).exp2_()
        sum_K = weights_1RK.sum(1)
        if self.problem.average:
            weights_1RK /= count_area_items(grid, weights_1RK)[:, None]
        cover_nqM = _split_rows(box_scatter_(weights_1RK, grid), block).permute(1, 2, 0)
        return cover_nqM, most_K.view(block.size), sum_K.view(block.size)

    def compute_gradients(
        self, block: Block, query: Tensor, key: Tensor, value_nMV: Tensor, outer: Outer
    ) -> list[Tensor]:
        """Compute the gradients of a block, see `Blocks`.

        Three more results are returned: the gradients of the scores of first items and of last
        items [n, M, q], and the gradients of the scores of the shapes [n, S, q].
        """
        grad_nqV, delta_nq, total_nq = outer
        grid, logits_1RK = self._compute_area_logits(block, query, key)
        weights_1RK = logits_1RK.sub_(total_nq.flatten()).exp2_()
        pull_nMq = torch.bmm(value_nMV, grad_nqV.transpose(1, 2))
        pull_1RK = torch.empty_like(weights_1RK)
        write_box(pull_nMq.transpose(0, 1).flatten(1)[None], pull_1RK, grid, mean=False)
        sizes_R1 = count_area_items(grid, weights_1RK)[:, None]
        if self.problem.average:
            pull_1RK /= sizes_R1
        slope_1RK = pull_1RK.sub_(delta_nq.flatten()).mul_(weights_1RK)
        if self.problem.average:
            weights_1RK /= sizes_R1
        parts = (box_scatter_(weights_1RK, grid), *compute_area_logit_gradients(slope_1RK, grid))
        return [_split_rows(part, block).transpose(0, 1) for part in parts]

    def _compute_area_logits(
        self, block: Block, query: Tensor, key: Tensor
    ) -> tuple[AreaGrid, Tensor]:
        """Return the areas of a block's items and their masked logits [1, R, K], in log-2 units."""
        rows, queries, items = block
        terms = self.terms
        n, q = block.size
        query_nEq = query[rows, queries].to(self.dtype).transpose(1, 2)
        mean_Mnq = query.new_empty(items, n, q, dtype=self.dtype)
        self.write_scores(block, query, key, mean_Mnq)

        def score_keys(key_nME: Tensor) -> Tensor:
            scores_nMq = torch.bmm(key_nME.to(self.dtype), query_nEq)
            return scores_nMq.mul_(self.problem.scale * LOG2_E).transpose(0, 1).flatten(1)[None]

        grid = self.cut_grid(items)
        shapes = grid.max_height * grid.max_width
        first = None if terms.first is None else score_keys(terms.first[rows, :items])
        last = None if terms.last is None else score_keys(terms.last[rows, :items])
        shape = None if terms.shape is None else score_keys(terms.shape[:shapes].expand(n, -1, -1))
        if terms.bias is not None:
            bias_Sn1 = terms.bias[rows, :shapes].to(self.dtype).T.unsqueeze(-1) * LOG2_E
            bias_1SK = bias_Sn1.expand(-1, -1, q).flatten(1)[None]
            shape = bias_1SK if shape is None else shape + bias_1SK
        scores = AreaScores(mean_Mnq.flatten(1)[None], first, last, shape)
        out_1RK = mean_Mnq.new_empty(1, grid.count, n * q)
        return grid, write_area_logits(scores, out_1RK, grid)


def _split_rows(x_1MK: Tensor, block: Block) -> Tensor:
    """Split columns into rows and queries: [1, M, K] -> [M, n, q]."""
    return x_1MK.view(-1, *block.size)

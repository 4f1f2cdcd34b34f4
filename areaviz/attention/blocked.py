"""Area attention by blocks where areas outweigh their items: boundary keys, size bias.

As in the streamed form a block of scores is held at a time and made again in the backward pass, and
the output is the item coverage times V. But no item's logit bounds an area's here, so a block holds
the logits of all its areas and shifts them by the largest. Shapes: N rows (batch and heads), Q
queries, M items, R areas, S area shapes, E key width, V value width; a block holds n rows, q
queries and K = n * q columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from areaviz.attention.blocks import LOG2_E, MASKED, Block, Blocks, Problem
from areaviz.attention.boundary import (
    AreaScores,
    BoundaryKeys,
    area_logits_adjoint,
    area_logits_into,
)
from areaviz.attention.pooling import area_sizes, box_into, box_scatter_
from areaviz.attention.spec import AreaSpec
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class AreaTerms:
    """What logits have besides the mean of item logits; None for nothing."""

    # [N, M, E] each: keys of an item as the first and as the last of an area.
    first: Tensor | None
    last: Tensor | None
    # [S, E]: keys of the shapes; given with those of the edges.
    shape: Tensor | None
    # [N, S]: added to the logits of each shape.
    bias: Tensor | None

    @classmethod
    def of(cls, key: Tensor, spec: AreaSpec) -> AreaTerms:
        """The terms that a spec asks for; key: [..., M, E]."""
        first = last = shape = bias = None
        if isinstance(spec.features, BoundaryKeys):
            first, last = (x.flatten(0, -3) for x in spec.features.edges(key))
            shape = spec.features.per_shape(spec.grid)
        if spec.size_bias is not None:
            bias = spec.size_bias.expand(*key.shape[:-2], -1).flatten(0, -2)
        return cls(first, last, shape, bias)


def blocked(
    query_NQE: Tensor, key_NME: Tensor, value_NMV: Tensor, problem: Problem, terms: AreaTerms
) -> Tensor:
    """Area attention whose logits have `terms` besides means: [N, Q, V]."""
    parts = (terms.first, terms.last, terms.shape, terms.bias)
    output: Tensor = _Blocked.apply(  # type: ignore[no-untyped-call]
        query_NQE, key_NME, value_NMV, *parts, problem
    )
    return output


class _Blocked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
        *parts, problem = rest
        terms = AreaTerms(*parts)
        blocks = _blocks(problem, query, gradient=False)
        shape = query.shape[:2]
        output_NQV = query.new_zeros(*shape, value.shape[2])
        total_NQ = query.new_full(shape, -MASKED, dtype=blocks.dtype)
        for block in blocks:
            rows, queries, items = block
            grid, logits_1RK = _area_logits(block, blocks, query, key, terms)
            most_K = logits_1RK.amax(1)
            weights_1RK = logits_1RK.sub_(most_K).exp2_()
            sum_K = weights_1RK.sum(1)
            if problem.average:
                weights_1RK /= area_sizes(grid, weights_1RK)[:, None]
            cover_nqM = _per_row(box_scatter_(weights_1RK, grid), block).permute(1, 2, 0)
            found_nqV = torch.bmm(cover_nqM, value[rows, :items].to(blocks.dtype))
            nothing_nq = (most_K <= MASKED / 2).view(block.size)
            share_nq = sum_K.reciprocal().view(block.size).masked_fill(nothing_nq, 0.0)
            output_NQV[rows, queries] = (found_nqV * share_nq.unsqueeze(-1)).to(output_NQV.dtype)
            total_nq = (most_K + sum_K.log2()).view(block.size)
            total_NQ[rows, queries] = total_nq.masked_fill(nothing_nq, -MASKED)
        ctx.save_for_backward(query, key, value, *parts, output_NQV, total_NQ)
        ctx.problem = problem
        return output_NQV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NQV: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, *parts, output, total_NQ = ctx.saved_tensors
        problem: Problem = ctx.problem
        terms, scale = AreaTerms(*parts), problem.scale
        blocks = _blocks(problem, query, gradient=True)
        dtype = blocks.dtype
        inputs = (query, key, value, *parts)
        grads: list[Any] = []
        for x in inputs:
            grads.append(None if x is None else x.new_zeros(x.shape, dtype=dtype))
        d_query, d_key, d_value, *d_edges, d_shape, d_bias = grads
        delta_NQ = (grad_NQV.to(dtype) * output.to(dtype)).sum(-1)
        for block in blocks:
            rows, queries, items = block
            grid, logits_1RK = _area_logits(block, blocks, query, key, terms)
            weights_1RK = logits_1RK.sub_(total_NQ[rows, queries].flatten()).exp2_()
            grad_nqV, query_nqE = grad_NQV[rows, queries].to(dtype), query[rows, queries].to(dtype)
            pull_nMq = torch.bmm(value[rows, :items].to(dtype), grad_nqV.transpose(1, 2))
            pull_1RK = torch.empty_like(weights_1RK)
            box_into(pull_nMq.transpose(0, 1).flatten(1)[None], pull_1RK, grid, mean=False)
            sizes_R1 = area_sizes(grid, weights_1RK)[:, None]
            if problem.average:
                pull_1RK /= sizes_R1
            slope_1RK = pull_1RK.sub_(delta_NQ[rows, queries].flatten()).mul_(weights_1RK)
            if problem.average:
                weights_1RK /= sizes_R1
            adjoint = area_logits_adjoint(slope_1RK, grid)
            slope_nMq, *edges, shape_nSq = (
                _per_row(part, block).transpose(0, 1) for part in adjoint
            )
            cover_nMq = _per_row(box_scatter_(weights_1RK, grid), block).transpose(0, 1)
            found_nqE = torch.bmm(slope_nMq.transpose(1, 2), key[rows, :items].to(dtype))
            d_key[rows, :items].baddbmm_(slope_nMq, query_nqE, alpha=scale)
            d_value[rows, :items].baddbmm_(cover_nMq, grad_nqV)
            shapes = shape_nSq.shape[1]
            if terms.shape is not None:
                for edge_nMq, term, d_term in zip(edges, parts[:2], d_edges, strict=True):
                    found_nqE.baddbmm_(edge_nMq.transpose(1, 2), term[rows, :items].to(dtype))
                    d_term[rows, :items].baddbmm_(edge_nMq, query_nqE, alpha=scale)
                found_nqE += shape_nSq.transpose(1, 2) @ terms.shape[:shapes].to(dtype)
                d_shape[:shapes].add_(
                    torch.einsum("nsq,nqe->se", shape_nSq, query_nqE), alpha=scale
                )
            if d_bias is not None:
                d_bias[rows, :shapes] += shape_nSq.sum(2)
            d_query[rows, queries] = found_nqE.mul_(scale)
        typed = []
        for grad, x in zip(grads, inputs, strict=True):
            typed.append(None if grad is None else grad.to(x.dtype))
        return (*typed, None)


def _blocks(problem: Problem, like: Tensor, gradient: bool) -> Blocks:
    """Blocks small enough for the logits of all areas, and for their gradients."""
    areas = problem.grid.max_height * problem.grid.max_width
    return Blocks(problem, like, live=(areas + 3) * (3 if gradient else 1))


def _area_logits(
    block: Block, blocks: Blocks, query: Tensor, key: Tensor, terms: AreaTerms
) -> tuple[AreaGrid, Tensor]:
    """The areas of a block's items, and their masked logits [1, R, K] in units of log 2."""
    rows, queries, items = block
    n, q = block.size
    query_nEq = query[rows, queries].to(blocks.dtype).transpose(1, 2)
    mean_Mnq = query.new_empty(items, n, q, dtype=blocks.dtype)
    blocks.scores(block, query, key, mean_Mnq)

    def scored(key_nME: Tensor) -> Tensor:
        scores_nMq = torch.bmm(key_nME.to(blocks.dtype), query_nEq)
        return scores_nMq.mul_(blocks.problem.scale * LOG2_E).transpose(0, 1).flatten(1)[None]

    grid = blocks.cut(items)
    shapes = grid.max_height * grid.max_width
    first = None if terms.first is None else scored(terms.first[rows, :items])
    last = None if terms.last is None else scored(terms.last[rows, :items])
    shape = None if terms.shape is None else scored(terms.shape[:shapes].expand(n, -1, -1))
    if terms.bias is not None:
        bias_Sn1 = terms.bias[rows, :shapes].to(blocks.dtype).T.unsqueeze(-1) * LOG2_E
        bias_1SK = bias_Sn1.expand(-1, -1, q).flatten(1)[None]
        shape = bias_1SK if shape is None else shape + bias_1SK
    scores = AreaScores(mean_Mnq.flatten(1)[None], first, last, shape)
    out_1RK = mean_Mnq.new_empty(1, grid.count, n * q)
    return grid, area_logits_into(scores, out_1RK, grid)


def _per_row(x_1MK: Tensor, block: Block) -> Tensor:
    """Columns as rows and queries again: [1, M, K] -> [M, n, q]."""
    return x_1MK.view(-1, *block.size)

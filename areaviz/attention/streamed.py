"""Area attention without area keys or values, for mean keys (Eq. 3) and sum or mean values (Eq. 4).

Since q . mean(k) = mean(q . k), area logits are running means of the item logits, and the output is
the item coverage (the adjoint box sum of the area weights) times V. `compute_streamed` holds one
block of scores at a time. Its backward pass recomputes the block from query, key, value, output and
log-sum-exp. If area logits have more terms than the mean of their items (boundary keys, a size
bias), blocks hold the logits of all their areas. `compute_with_weights` uses the same algebra and
also returns the weights.

Shapes: N rows (batch and heads), Q queries, M items, E key width, V value width, R areas. A block
holds [M, n, q] scores of n rows and q queries.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from areaviz.attention.blocked import AreaTerms, TermBlocks
from areaviz.attention.blocks import MASKED, Problem, transpose_mask
from areaviz.attention.boundary import AreaScores, compute_area_logits
from areaviz.attention.boxfilter import MeanBlocks
from areaviz.attention.pooled import compute_weights, multiply_weights
from areaviz.attention.pooling import box_scatter, choose_sum_dtype, count_area_items
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.trace.areas import AreaGrid


def compute_streamed(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention by blocks: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]."""
    bias = spec.mask.bias
    if not spec.plain or (bias is not None and bias.requires_grad):
        return compute_with_weights(query, key, value, spec)
    lead = key.shape[:-2]
    grid = spec.grid
    if grid.height == 1:
        # A sequence is treated as one column because areas grow downwards. This does not change the
        # order of its items.
        grid = AreaGrid(grid.width, 1, grid.max_width, 1)
    problem = Problem(
        grid,
        spec.scale,
        spec.value_mode == "mean",
        tuple(transpose_mask(mask, lead) for mask in spec.mask.blocked),
        None if bias is None else transpose_mask(bias, lead),
        spec.mask.causal,
    )
    rows = [x.flatten(0, -3) for x in (query, key, value)]
    terms = AreaTerms.from_spec(key, spec)
    parts = (terms.first, terms.last, terms.shape, terms.bias)
    output_NQV: Tensor = _Streamed.apply(*rows, *parts, problem)  # type: ignore[no-untyped-call]
    return AreaResult(output_NQV.unflatten(0, lead))


def compute_with_weights(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention in one block with autograd and every option that needs the weights."""
    dtype, lead = choose_sum_dtype(query.dtype), key.shape[:-2]
    query_NQE, key_NME, value_NMV = (x.flatten(0, -3).to(dtype) for x in (query, key, value))
    scores_NMQ = torch.bmm(key_NME, query_NQE.transpose(1, 2)) * spec.scale
    scores = scores_NMQ.unflatten(0, lead)
    if spec.mask.bias is not None:
        scores = scores + spec.mask.bias.transpose(-1, -2).to(dtype)
    allowed = spec.mask.find_allowed_items(query.shape[-2], key.shape[-2], key.device)
    if allowed is not None:
        scores = scores.masked_fill(~allowed.transpose(-1, -2), MASKED)
    logits_NRQ = compute_area_logits(
        _make_scores(scores.flatten(0, -3), query_NQE, key, spec), spec.grid
    )
    masked = MASKED / 2 / spec.grid.items
    if spec.multipliers is not None:
        multipliers = spec.multipliers.transpose(-1, -2)
        logits = multiply_weights(logits_NRQ.unflatten(0, lead), multipliers, masked)
        logits_NRQ = logits.flatten(0, -3)
    weights_NRQ, used_NRQ = compute_weights(logits_NRQ, spec, dim=1, masked=masked)
    if spec.value_mode == "mean":
        used_NRQ = used_NRQ / count_area_items(spec.grid, used_NRQ)[:, None]
    output_NQV = torch.bmm(box_scatter(used_NRQ, spec.grid).transpose(1, 2), value_NMV)
    output = output_NQV.to(query.dtype).unflatten(0, lead)
    if not spec.need_weights:
        return AreaResult(output)
    weights = weights_NRQ.transpose(1, 2).unflatten(0, lead)
    coverage_NMQ = box_scatter(weights_NRQ, spec.grid)
    return AreaResult(output, weights, coverage_NMQ.transpose(1, 2).unflatten(0, lead))


def _make_scores(mean_NMQ: Tensor, query_NQE: Tensor, key: Tensor, spec: AreaSpec) -> AreaScores:
    """Return the terms of the area logits, given the scores of the items."""
    terms = AreaTerms.from_spec(key, spec)
    query_NEQ = query_NQE.transpose(1, 2) * spec.scale
    parts = []
    for keys in (terms.first, terms.last, terms.shape):
        parts.append(None if keys is None else keys.to(query_NEQ.dtype) @ query_NEQ)
    first, last, shape_NSQ = parts
    if terms.bias is not None:
        bias_NS1 = terms.bias.to(query_NEQ.dtype).unsqueeze(-1)
        shape_NSQ = bias_NS1 if shape_NSQ is None else shape_NSQ + bias_NS1
    return AreaScores(mean_NMQ, first, last, shape_NSQ)


def _choose_blocks(
    problem: Problem, query: Tensor, terms: AreaTerms, gradient: bool
) -> MeanBlocks | TermBlocks:
    if terms.shape is None and terms.bias is None:
        return MeanBlocks(problem, query, gradient)
    return TermBlocks(problem, query, gradient, terms)


class _Streamed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:
        *parts, problem = rest
        blocks = _choose_blocks(problem, query, AreaTerms(*parts), gradient=False)
        shape = query.shape[:2]
        output_NQV = query.new_zeros(*shape, value.shape[2])
        total_NQ = query.new_full(shape, -MASKED, dtype=blocks.dtype)
        for block in blocks:
            rows, queries, items = block
            cover_nqM, most_nq, sum_nq = blocks.compute_coverage(block, query, key)
            found_nqV = torch.bmm(cover_nqM, value[rows, :items].to(blocks.dtype))
            log_total, share_nq = most_nq + sum_nq.log2(), sum_nq.reciprocal()
            if problem.masked:
                nothing = most_nq <= MASKED / 2
                share_nq.masked_fill_(nothing, 0.0)
                log_total.masked_fill_(nothing, -MASKED)
            output_NQV[rows, queries] = found_nqV.mul_(share_nq.unsqueeze(-1))
            total_NQ[rows, queries] = log_total
        ctx.save_for_backward(query, key, value, *parts, output_NQV, total_NQ)
        ctx.problem = problem
        return output_NQV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NQV: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, *parts, output, total_NQ = ctx.saved_tensors
        problem: Problem = ctx.problem
        terms, scale = AreaTerms(*parts), problem.scale
        blocks = _choose_blocks(problem, query, terms, gradient=True)
        dtype = blocks.dtype
        inputs = (query, key, value, *parts)
        grads: list[Any] = []
        for x in inputs:
            grads.append(None if x is None else x.new_zeros(x.shape, dtype=dtype))
        d_query, d_key, d_value, *d_edges, d_shape, d_bias = grads
        delta_NQ = (grad_NQV.to(dtype) * output.to(dtype)).sum(-1)
        for block in blocks:
            rows, queries, items = block
            grad_nqV, query_nqE = grad_NQV[rows, queries].to(dtype), query[rows, queries].to(dtype)
            outer = (grad_nqV, delta_NQ[rows, queries], total_NQ[rows, queries])
            value_nMV = value[rows, :items].to(dtype)
            cover_nMq, slope_nMq, *more = blocks.compute_gradients(
                block, query, key, value_nMV, outer
            )
            found_nqE = torch.bmm(slope_nMq.transpose(1, 2), key[rows, :items].to(dtype))
            d_key[rows, :items].baddbmm_(slope_nMq, query_nqE, alpha=scale)
            d_value[rows, :items].baddbmm_(cover_nMq, grad_nqV)
            if more:
                *edges, shape_nSq = more
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

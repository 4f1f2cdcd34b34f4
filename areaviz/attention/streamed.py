"""Area attention without area keys or values: mean keys (Eq. 3) and sum or mean values (Eq. 4).

Since q . mean(k) = mean(q . k), area logits are running means of the item logits, and the output is
the item coverage (the adjoint box sum of the area weights) times V. `streamed` holds one block of
scores at a time and recomputes it in the backward pass from query, key, value, output and
log-sum-exp. `with_weights` is the same algebra for when the weights are wanted anyway.

Shapes: N rows (batch and heads), Q queries, M items, E key width, V value width, R areas; a block
holds [M, n, q] scores of n rows and q queries.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from areaviz.attention.blocked import AreaTerms, blocked
from areaviz.attention.blocks import MASKED, Block, Problem, Workspace, row_mask
from areaviz.attention.boundary import AreaScores, area_logits
from areaviz.attention.pooling import area_sizes, box_scatter, wide
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.attention.weights import choose, weighed
from areaviz.trace.areas import AreaGrid


def streamed(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Area attention over blocks of queries: [..., Q, E], [..., M, E], [..., M, V] ->
    [..., Q, V].
    """
    bias = spec.mask.bias
    if not spec.plain or (bias is not None and bias.requires_grad):
        return with_weights(query, key, value, spec)
    masks = tuple(row_mask(mask, key.shape[:-2]) for mask in spec.mask.blocked)
    row_bias = None if bias is None else row_mask(bias, key.shape[:-2])
    problem = Problem(
        _tall(spec.grid), spec.scale, spec.value_mode == "mean", masks, row_bias, spec.mask.causal
    )
    rows = [x.flatten(0, -3) for x in (query, key, value)]
    if spec.means_alone:
        output_NQV: Tensor = _Streamed.apply(*rows, problem)  # type: ignore[no-untyped-call]
    else:
        output_NQV = blocked(rows[0], rows[1], rows[2], problem, AreaTerms.of(key, spec))
    return AreaResult(output_NQV.unflatten(0, query.shape[:-2]))


def with_weights(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """The same in one block under autograd, with top-k, dropout, factors of areas, weights and
    coverage.
    """
    dtype, rows = wide(query.dtype), key.shape[:-2]
    query_NQE, key_NME, value_NMV = (x.flatten(0, -3).to(dtype) for x in (query, key, value))
    scores_NMQ = torch.bmm(key_NME, query_NQE.transpose(1, 2)) * spec.scale
    scores = scores_NMQ.unflatten(0, rows)
    if spec.mask.bias is not None:
        scores = scores + spec.mask.bias.transpose(-1, -2).to(dtype)
    allowed = spec.mask.allowed_items(query.shape[-2], key.shape[-2], key.device)
    if allowed is not None:
        scores = scores.masked_fill(~allowed.transpose(-1, -2), MASKED)
    logits_NRQ = area_logits(_scores(scores.flatten(0, -3), query_NQE, key, spec), spec.grid)
    masked = MASKED / 2 / spec.grid.items
    if spec.area_factors is not None:
        factors = spec.area_factors.transpose(-1, -2)
        logits_NRQ = weighed(logits_NRQ.unflatten(0, rows), factors, masked).flatten(0, -3)
    weights, kept = choose(logits_NRQ, spec, dim=1, masked=masked)
    pulled_NRQ = kept / area_sizes(spec.grid, kept)[:, None] if spec.value_mode == "mean" else kept
    output_NQV = torch.bmm(box_scatter(pulled_NRQ, spec.grid).transpose(1, 2), value_NMV)
    output = output_NQV.to(query.dtype).unflatten(0, rows)
    if not spec.need_weights:
        return AreaResult(output)
    coverage = box_scatter(weights, spec.grid)
    return AreaResult(output, *(x.transpose(1, 2).unflatten(0, rows) for x in (weights, coverage)))


def _scores(mean_NMQ: Tensor, query_NQE: Tensor, key: Tensor, spec: AreaSpec) -> AreaScores:
    """What the logits of areas are the sums of, given the scores of the items."""
    terms = AreaTerms.of(key, spec)
    query_NEQ = query_NQE.transpose(1, 2) * spec.scale
    first = None if terms.first is None else terms.first.to(query_NEQ.dtype) @ query_NEQ
    last = None if terms.last is None else terms.last.to(query_NEQ.dtype) @ query_NEQ
    shape_NSQ = None if terms.shape is None else terms.shape.to(query_NEQ.dtype) @ query_NEQ
    if terms.bias is not None:
        bias_NS1 = terms.bias.to(query_NEQ.dtype).unsqueeze(-1)
        shape_NSQ = bias_NS1 if shape_NSQ is None else shape_NSQ + bias_NS1
    return AreaScores(mean_NMQ, first, last, shape_NSQ)


class _Streamed(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query_NQE: Tensor, key_NME: Tensor, value_NMV: Tensor, problem: Problem
    ) -> Tensor:
        rows, queries, _ = query_NQE.shape
        work = Workspace(problem, query_NQE, queries, gradient=False)
        shape, dtype = (rows, queries), work.scratch.dtype
        output_NQV = query_NQE.new_zeros(*shape, value_NMV.shape[2])
        total_NQ = query_NQE.new_full(shape, -MASKED, dtype=dtype)
        for block in work.blocks(*shape):
            _forward_block(block, work, (query_NQE, key_NME, value_NMV), output_NQV, total_NQ)
        ctx.save_for_backward(query_NQE, key_NME, value_NMV, output_NQV, total_NQ)
        ctx.problem = problem
        return output_NQV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NQV: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, output, total_NQ = ctx.saved_tensors
        work = Workspace(ctx.problem, query, query.shape[1], gradient=True)
        dtype = work.scratch.dtype
        delta_NQ = (grad_NQV.to(dtype) * output.to(dtype)).sum(-1)
        grads = (_zeros(query, dtype), _zeros(key, dtype), _zeros(value, dtype))
        for block in work.blocks(*query.shape[:2]):
            _backward_block(block, work, (query, key, value), (grad_NQV, delta_NQ, total_NQ), grads)
        return grads[0].to(query.dtype), grads[1].to(key.dtype), grads[2].to(value.dtype), None


Three = tuple[Tensor, Tensor, Tensor]


def _forward_block(
    block: Block, work: Workspace, inputs: Three, output_NQV: Tensor, total_NQ: Tensor
) -> None:
    query, key, value = inputs
    rows, queries, items = block
    shape = (items, rows.stop - rows.start, queries.stop - queries.start)
    boxes = work.filter(items, shape[1] * shape[2])
    scores_MNQ = boxes.items[: boxes.grid.items * boxes.columns].view(shape)
    work.scores(block, query, key, scores_MNQ)
    # Single items are areas and a mean never exceeds the largest item, so this is the largest
    # logit.
    most_NQ = scores_MNQ.amax(0)
    scores_MNQ.sub_(most_NQ)
    coverage, weight_K = boxes.run()
    assert weight_K is not None
    weight_NQ = weight_K.view(shape[1:])
    result = torch.bmm(
        coverage.view(shape).permute(1, 2, 0), value[rows, :items].to(coverage.dtype)
    )
    log_total, share_NQ = most_NQ + weight_NQ.log2(), weight_NQ.reciprocal()
    if work.problem.masked:
        nothing = most_NQ <= MASKED / 2
        share_NQ.masked_fill_(nothing, 0.0)
        log_total.masked_fill_(nothing, -MASKED)
    result.mul_(share_NQ.unsqueeze(-1))
    output_NQV[rows, queries] = result
    total_NQ[rows, queries] = log_total


def _backward_block(
    block: Block, work: Workspace, inputs: Three, outer: Three, grads: Three
) -> None:
    (query, key, value), (grad, delta, total), problem = inputs, outer, work.problem
    rows, queries, items = block
    n, q = rows.stop - rows.start, queries.stop - queries.start
    boxes = work.filter(items, n * q)
    both = boxes.items[: items * 2 * n * q].view(items, 2, n, q)
    scores_MNQ, pull_MNQ, dtype = both[:, 0], both[:, 1], both.dtype
    work.scores(block, query, key, scores_MNQ)
    scores_MNQ.sub_(total[rows, queries])
    grad_NQV, value_NMV = grad[rows, queries].to(dtype), value[rows, :items].to(dtype)
    torch.bmm(value_NMV, grad_NQV.transpose(1, 2), out=pull_MNQ.transpose(0, 1))
    delta_NQ = delta[rows, queries]
    if problem.average:
        pull_MNQ.sub_(delta_NQ)
    result, _ = boxes.run(delta_NQ.reshape(-1))
    cover_NMQ, slope_NMQ = result.view(items, 2, n, q).permute(1, 2, 0, 3)
    query_NQE, key_NME = query[rows, queries].to(dtype), key[rows, :items].to(dtype)
    grads[0][rows, queries] = torch.bmm(slope_NMQ.transpose(1, 2), key_NME).mul_(problem.scale)
    grads[1][rows, :items].baddbmm_(slope_NMQ, query_NQE, alpha=problem.scale)
    grads[2][rows, :items].baddbmm_(cover_NMQ, grad_NQV)


def _zeros(like: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(like.shape, dtype=dtype, device=like.device)


def _tall(grid: AreaGrid) -> AreaGrid:
    """A sequence as one column, so that growing areas means growing downwards; same
    order of items.
    """
    return AreaGrid(grid.width, 1, grid.max_width, 1) if grid.height == 1 else grid

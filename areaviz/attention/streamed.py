"""Area attention without area keys or values: mean keys (Eq. 3) and sum or mean values (Eq. 4).

Since q . mean(k) = mean(q . k), area logits are running means of the item logits, and the output is
the item coverage (the adjoint box sum of the area weights) times V. `streamed` holds one block of
scores at a time and recomputes it in the backward pass from query, key, value, output and log-sum-exp.
`with_weights` is the same algebra for when the weights are wanted anyway.

Shapes: N rows (batch and heads), Q queries, M items, E key width, V value width, R areas; a block
holds [M, n, q] scores of n rows and q queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from areaviz.attention.boxfilter import BoxFilter, buffer_count
from areaviz.attention.pooling import area_sizes, box_mean, box_scatter, wide
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.attention.weights import choose
from areaviz.trace.areas import AreaGrid

# A masked score: far below any real one, yet its mean with others stays finite and exp gives 0.
MASKED = -1e30
# Scores are in units of log 2: exp is up to 200 times slower where its result underflows (torch 2.13 on a CPU), as
# it does for everything masked; exp2 is not.
LOG2_E = math.log2(math.e)
# Values one block may hold, so that it stays in the processor's cache; see benchmarks/README.md.
CPU_BLOCK, GPU_BLOCK = 1 << 20, 1 << 24


def streamed(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Area attention over blocks of queries: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]."""
    bias = spec.mask.bias
    if not spec.plain or (bias is not None and bias.requires_grad):
        return with_weights(query, key, value, spec)
    masks = tuple(_row_mask(mask, key.shape[:-2]) for mask in spec.mask.blocked)
    row_bias = None if bias is None else _row_mask(bias, key.shape[:-2])
    problem = _Problem(_tall(spec.grid), spec.scale, spec.value_mode == "mean", masks, row_bias, spec.mask.causal)
    output_NQV: Tensor = _Streamed.apply(*(x.flatten(0, -3) for x in (query, key, value)), problem)  # type: ignore[no-untyped-call]
    return AreaResult(output_NQV.unflatten(0, query.shape[:-2]))


def with_weights(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """The same in one block under autograd, with top-k, dropout, weights and coverage."""
    dtype, rows = wide(query.dtype), key.shape[:-2]
    query_NQE, key_NME, value_NMV = (x.flatten(0, -3).to(dtype) for x in (query, key, value))
    scores_NMQ = torch.bmm(key_NME, query_NQE.transpose(1, 2)) * spec.scale
    scores = scores_NMQ.unflatten(0, rows)
    if spec.mask.bias is not None:
        scores = scores + spec.mask.bias.transpose(-1, -2).to(dtype)
    allowed = spec.mask.allowed_items(query.shape[-2], key.shape[-2], key.device)
    if allowed is not None:
        scores = scores.masked_fill(~allowed.transpose(-1, -2), MASKED)
    logits_NRQ = box_mean(scores.flatten(0, -3), spec.grid)
    weights, kept = choose(logits_NRQ, spec, dim=1, masked=MASKED / 2 / spec.grid.items)
    pulled_NRQ = kept / area_sizes(spec.grid, kept)[:, None] if spec.value_mode == "mean" else kept
    output_NQV = torch.bmm(box_scatter(pulled_NRQ, spec.grid).transpose(1, 2), value_NMV)
    output = output_NQV.to(query.dtype).unflatten(0, rows)
    if not spec.need_weights:
        return AreaResult(output)
    coverage = box_scatter(weights, spec.grid)
    return AreaResult(output, *(x.transpose(1, 2).unflatten(0, rows) for x in (weights, coverage)))


class _RowMask(NamedTuple):
    """A mask or bias by row: `data` [K, M, Q or 1] and, for every one of the N rows, which of the K."""

    data: Tensor
    rows: list[int]

    def block(self, rows: slice, queries: slice, items: int) -> Tensor:
        """[items, n or 1, q or 1]."""
        data = self.data[:, :items] if self.data.shape[2] == 1 else self.data[:, :items, queries]
        used = self.rows[rows]
        if len(set(used)) == 1:
            return data[used[0], :, None]
        return data[torch.tensor(used, device=data.device)].transpose(0, 1)


@dataclass(frozen=True)
class _Problem:
    """What stays the same over all blocks."""

    grid: AreaGrid
    scale: float
    average: bool
    blocked: tuple[_RowMask, ...]
    bias: _RowMask | None
    causal: bool

    @property
    def masked(self) -> bool:
        return self.causal or bool(self.blocked)


class _Block(NamedTuple):
    """n rows by q queries and the first `items` items; nobody in the block sees the others."""

    rows: slice
    queries: slice
    items: int


class _Worker:
    """The scratch memory of one pass, and the filters sliced from it."""

    def __init__(self, problem: _Problem, like: Tensor, queries: int, gradient: bool) -> None:
        self.problem, self.gradient = problem, gradient
        rows, self.queries_per_block = _block_size(problem, like, queries, gradient)
        self.rows_per_block = rows
        halves = 2 if gradient else 1
        room = problem.grid.items * rows * self.queries_per_block * halves
        self.scratch = torch.empty(buffer_count(problem.grid), room, dtype=wide(like.dtype), device=like.device)
        self.filters: dict[tuple[int, int], BoxFilter] = {}
        self.later: dict[tuple[int, int, int], Tensor] = {}

    def filter(self, items: int, columns: int) -> BoxFilter:
        found = self.filters.get((items, columns))
        if found is None:
            grid = self.problem.grid
            rows = items // grid.width
            cut = AreaGrid(rows, grid.width, min(grid.max_height, rows), grid.max_width)
            found = BoxFilter(cut, columns, self.scratch, self.gradient, self.problem.average)
            self.filters[items, columns] = found
        return found

    def hide_later(self, scores_MNQ: Tensor, queries: int, start: int) -> None:
        """Mask in a block, whose queries begin at `start` of `queries`, what causality hides."""
        items, _, columns = scores_MNQ.shape
        first = self.problem.grid.items - queries + start
        begin = min(max(first, 0), items)  # padding may hide all items that causality would
        hidden_MQ = self.later.get((begin - first, items - begin, columns))
        if hidden_MQ is None:
            item = torch.arange(begin - first, items - first, device=scores_MNQ.device)
            hidden_MQ = item[:, None] > torch.arange(columns, device=scores_MNQ.device)
            hidden_MQ = self.later[begin - first, items - begin, columns] = hidden_MQ.to(scores_MNQ.dtype)
        scores_MNQ[begin:].add_(hidden_MQ[:, None], alpha=MASKED)

    def blocks(self, rows: int, queries: int) -> Iterator[_Block]:
        """Cover rows x queries; blocks in which nothing can be seen are left out."""
        problem, items = self.problem, self.problem.grid.items
        seen = _last_seen(problem, rows)
        # Whole rows of the memory, and few different lengths: each needs a filter of its own.
        step = problem.grid.width * -(-problem.grid.height // 4)
        for j in range(0, queries, self.queries_per_block):
            end = min(queries, j + self.queries_per_block)
            limit = items - queries + end if problem.causal else items
            for i in range(0, rows, self.rows_per_block):
                stop = min(rows, i + self.rows_per_block)
                last = min(limit, max(seen[i:stop]))
                if last > 0:
                    yield _Block(slice(i, stop), slice(j, end), min(items, -(-last // step) * step))


def _scores(block: _Block, query_NQE: Tensor, key_NME: Tensor, out_MNQ: Tensor, worker: _Worker) -> None:
    """Masked, scaled item scores of a block, in units of log 2.

    Masks are added: on a CPU that takes a fifth of the time of `masked_fill_`.
    """
    out, problem = out_MNQ.transpose(0, 1), worker.problem
    key = key_NME[block.rows, : block.items].to(out.dtype)
    query = query_NQE[block.rows, block.queries].to(out.dtype)
    torch.baddbmm(out, key, query.transpose(1, 2), beta=0, alpha=problem.scale * LOG2_E, out=out)
    if problem.bias is not None:
        out_MNQ.add_(problem.bias.block(*block), alpha=LOG2_E)
    for mask in problem.blocked:
        out_MNQ.add_(mask.block(*block).to(out.dtype), alpha=MASKED)
    if problem.causal:
        worker.hide_later(out_MNQ, query_NQE.shape[1], block.queries.start)


class _Streamed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query_NQE: Tensor, key_NME: Tensor, value_NMV: Tensor, problem: _Problem) -> Tensor:
        rows, queries, _ = query_NQE.shape
        worker = _Worker(problem, query_NQE, queries, gradient=False)
        shape, dtype = (rows, queries), worker.scratch.dtype
        output_NQV = query_NQE.new_zeros(*shape, value_NMV.shape[2])
        total_NQ = query_NQE.new_full(shape, -MASKED, dtype=dtype)
        for block in worker.blocks(*shape):
            _forward_block(block, worker, (query_NQE, key_NME, value_NMV), output_NQV, total_NQ)
        ctx.save_for_backward(query_NQE, key_NME, value_NMV, output_NQV, total_NQ)
        ctx.problem = problem
        return output_NQV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NQV: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value, output, total_NQ = ctx.saved_tensors
        worker = _Worker(ctx.problem, query, query.shape[1], gradient=True)
        dtype = worker.scratch.dtype
        delta_NQ = (grad_NQV.to(dtype) * output.to(dtype)).sum(-1)
        grads = (_zeros(query, dtype), _zeros(key, dtype), _zeros(value, dtype))
        for block in worker.blocks(*query.shape[:2]):
            _backward_block(block, worker, (query, key, value), (grad_NQV, delta_NQ, total_NQ), grads)
        return grads[0].to(query.dtype), grads[1].to(key.dtype), grads[2].to(value.dtype), None


Three = tuple[Tensor, Tensor, Tensor]


def _forward_block(block: _Block, worker: _Worker, inputs: Three, output_NQV: Tensor, total_NQ: Tensor) -> None:
    query, key, value = inputs
    rows, queries, items = block
    shape = (items, rows.stop - rows.start, queries.stop - queries.start)
    boxes = worker.filter(items, shape[1] * shape[2])
    scores_MNQ = boxes.items[: boxes.grid.items * boxes.columns].view(shape)
    _scores(block, query, key, scores_MNQ, worker)
    # Single items are areas and a mean never exceeds the largest item, so this is the largest logit.
    most_NQ = scores_MNQ.amax(0)
    scores_MNQ.sub_(most_NQ)
    coverage, weight_K = boxes.run()
    assert weight_K is not None
    weight_NQ = weight_K.view(shape[1:])
    result = torch.bmm(coverage.view(shape).permute(1, 2, 0), value[rows, :items].to(coverage.dtype))
    log_total, share_NQ = most_NQ + weight_NQ.log2(), weight_NQ.reciprocal()
    if worker.problem.masked:
        nothing = most_NQ <= MASKED / 2
        share_NQ.masked_fill_(nothing, 0.0)
        log_total.masked_fill_(nothing, -MASKED)
    result.mul_(share_NQ.unsqueeze(-1))
    output_NQV[rows, queries] = result
    total_NQ[rows, queries] = log_total


def _backward_block(block: _Block, worker: _Worker, inputs: Three, outer: Three, grads: Three) -> None:
    (query, key, value), (grad, delta, total), problem = inputs, outer, worker.problem
    rows, queries, items = block
    n, q = rows.stop - rows.start, queries.stop - queries.start
    boxes = worker.filter(items, n * q)
    both = boxes.items[: items * 2 * n * q].view(items, 2, n, q)
    scores_MNQ, pull_MNQ, dtype = both[:, 0], both[:, 1], both.dtype
    _scores(block, query, key, scores_MNQ, worker)
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
    """A sequence as one column, so that growing areas means growing downwards; same order of items."""
    return AreaGrid(grid.width, 1, grid.max_width, 1) if grid.height == 1 else grid


def _row_mask(mask: Tensor, rows: torch.Size) -> _RowMask:
    """Transpose a mask [..., Q or 1, M or 1] once; broadcast rows are not copied."""
    lead = mask.shape[:-2]
    data_KMQ = mask.detach().flatten(0, -3).transpose(1, 2)
    index = torch.arange(lead.numel()).view(lead).expand(rows).flatten()
    return _RowMask(data_KMQ.contiguous(), index.tolist())


def _last_seen(problem: _Problem, rows: int) -> list[int]:
    """For every row, one more than the last item that any query may see."""
    items = problem.grid.items
    seen = [items] * rows
    for mask in problem.blocked:
        open_KM = (~mask.data).any(2).expand(-1, items)
        last_K = (open_KM * torch.arange(1, items + 1, device=open_KM.device)).amax(1).tolist()
        seen = [min(limit, last_K[k]) for limit, k in zip(seen, mask.rows, strict=True)]
    return seen


def _block_size(problem: _Problem, like: Tensor, queries: int, gradient: bool) -> tuple[int, int]:
    """Rows and queries of a block: about the budget, queries split evenly."""
    grid, budget = problem.grid, GPU_BLOCK if like.is_cuda else CPU_BLOCK
    live = grid.max_height + grid.max_width + (2 if grid.max_width > 1 else 1)
    columns = max(1, budget // (live * grid.items * (2 if gradient else 1)))
    parts = -(-queries // columns)
    if problem.causal:
        parts = max(parts, min(4, queries // 128))
    per_block = -(-queries // parts)
    return min(like.shape[0], max(1, columns // per_block)), per_block

"""Blocks of rows and queries, and their masked item scores: what the streamed form works through.

Shapes: N rows (batch and heads), Q queries, M items, E key width; a block holds [M, n, q] scores of
n rows and q queries. Masks come by K rows, each of which may serve many of the N.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from areaviz.attention.pooling import wide
from areaviz.trace.areas import AreaGrid

# A masked score: far below any real one, yet its mean with others stays finite and exp gives 0.
MASKED = -1e30
# Scores are in units of log 2: exp is up to 200 times slower where its result underflows (torch
# 2.13 on a CPU), as it does for everything masked; exp2 is not.
LOG2_E = math.log2(math.e)
# Values one block may hold, so that it stays in the processor's cache; see benchmarks/README.md.
CPU_BLOCK, GPU_BLOCK = 1 << 20, 1 << 24


class RowMask(NamedTuple):
    """A mask or bias by row."""

    # [K, M, Q or 1]
    data: Tensor
    # For every one of the N rows, which of the K is its own: for the host, and where the data is.
    rows: list[int]
    index_N: Tensor

    def block(self, rows: slice, queries: slice, items: int) -> Tensor:
        """[items, n or 1, q or 1]."""
        data = self.data[:, :items]
        if data.shape[2] > 1:
            data = data[:, :, queries]
        used = self.rows[rows]
        if len(set(used)) == 1:
            return data[used[0], :, None]
        return data[self.index_N[rows]].transpose(0, 1)


def row_mask(mask: Tensor, rows: torch.Size) -> RowMask:
    """Transpose a mask [..., Q or 1, M or 1] once; broadcast rows are not copied."""
    lead = mask.shape[:-2]
    data_KMQ = mask.detach().flatten(0, -3).transpose(1, 2)
    index_N = torch.arange(lead.numel(), device="cpu").view(lead).expand(rows).flatten()
    there_N = torch.arange(lead.numel(), device=mask.device).view(lead).expand(rows).flatten()
    return RowMask(data_KMQ.contiguous(), index_N.tolist(), there_N)


@dataclass(frozen=True)
class Problem:
    """What stays the same over all blocks."""

    grid: AreaGrid
    scale: float
    # Whether an area's value is the mean of its items and not the sum.
    average: bool
    blocked: tuple[RowMask, ...]
    bias: RowMask | None
    causal: bool

    @property
    def masked(self) -> bool:
        return self.causal or bool(self.blocked)


class Block(NamedTuple):
    """n rows by q queries and the first `items` items; no query of the block sees the others."""

    rows: slice
    queries: slice
    items: int

    @property
    def size(self) -> tuple[int, int]:
        """n and q."""
        return self.rows.stop - self.rows.start, self.queries.stop - self.queries.start


Outer = tuple[Tensor, Tensor, Tensor]
"""Of a block: gradient of the output [n, q, V], its inner product with the output [n, q], and the
logarithm to base 2 of the summed exponentials [n, q].
"""


class Blocks:
    """Covers rows x queries with blocks, and makes their masked scores.

    A subclass has two methods: `coverage` gives for a block the unscaled coverage [n, q, M] of its
    items, the largest logit [n, q], by which all were shifted, and the sum of weights [n, q].
    `slopes` gives the coverage [n, M, q], scaled, and the gradient of the item scores [n, M, q].

    Args:
        problem: what stays the same.
        like: a tensor of the rows [N, Q, ...], for their number, type and device.
        live: values a block holds at once for each item and column.
    """

    def __init__(self, problem: Problem, like: Tensor, live: int) -> None:
        self.problem, self.dtype, self.device = problem, wide(like.dtype), like.device
        self.rows, self.queries = rows, queries = like.shape[:2]
        budget = GPU_BLOCK if like.is_cuda else CPU_BLOCK
        columns = max(1, budget // (live * problem.grid.items))
        parts = -(-queries // columns)
        if problem.causal:
            # Shorter blocks leave out more of what causality hides.
            parts = max(parts, min(4, queries // 128))
        self.queries_per_block = max(1, -(-queries // max(1, parts)))
        self.rows_per_block = min(max(1, rows), max(1, columns // self.queries_per_block))
        # Causal masks, by the items before their first hidden one, their items and their queries.
        self.later: dict[tuple[int, int, int], Tensor] = {}

    def cut(self, items: int) -> AreaGrid:
        """The areas of the first `items` items, which are whole rows of the memory."""
        grid = self.problem.grid
        rows = items // grid.width
        return AreaGrid(rows, grid.width, min(grid.max_height, rows), grid.max_width)

    def scores(self, block: Block, query_NQE: Tensor, key_NME: Tensor, out_MNQ: Tensor) -> None:
        """Write the masked, scaled item scores of a block, in units of log 2, to `out_MNQ`."""
        out, problem = out_MNQ.transpose(0, 1), self.problem
        key = key_NME[block.rows, : block.items].to(out.dtype)
        query = query_NQE[block.rows, block.queries].to(out.dtype)
        torch.baddbmm(
            out, key, query.transpose(1, 2), beta=0, alpha=problem.scale * LOG2_E, out=out
        )
        if problem.bias is not None:
            out_MNQ.add_(problem.bias.block(*block), alpha=LOG2_E)
        # Added, not filled: on a CPU that takes a fifth of the time of `masked_fill_`.
        for mask in problem.blocked:
            out_MNQ.add_(mask.block(*block).to(out.dtype), alpha=MASKED)
        if problem.causal:
            self._hide_later(out_MNQ, block.queries.start)

    def _hide_later(self, scores_MNQ: Tensor, start: int) -> None:
        """Mask what causality hides from the queries from `start` on."""
        items, _, columns = scores_MNQ.shape
        first = self.problem.grid.items - self.queries + start
        begin = min(max(first, 0), items)  # padding may hide all items that causality would
        place = (begin - first, items - begin, columns)
        if place not in self.later:
            item = torch.arange(begin - first, items - first, device=scores_MNQ.device)
            hidden_MQ = item[:, None] > torch.arange(columns, device=scores_MNQ.device)
            self.later[place] = hidden_MQ.to(scores_MNQ.dtype)
        scores_MNQ[begin:].add_(self.later[place][:, None], alpha=MASKED)

    def __iter__(self) -> Iterator[Block]:
        """Cover rows x queries; blocks in which nothing can be seen are left out."""
        problem, items = self.problem, self.problem.grid.items
        seen = self._last_seen()
        # Whole rows of the memory, and few different lengths: each needs a filter of its own.
        step = problem.grid.width * -(-problem.grid.height // 4)
        for j in range(0, self.queries, self.queries_per_block):
            end = min(self.queries, j + self.queries_per_block)
            limit = items - self.queries + end if problem.causal else items
            for i in range(0, self.rows, self.rows_per_block):
                stop = min(self.rows, i + self.rows_per_block)
                last = min(limit, max(seen[i:stop]))
                if last > 0:
                    yield Block(slice(i, stop), slice(j, end), min(items, -(-last // step) * step))

    def _last_seen(self) -> list[int]:
        """For every row, one more than the last item that any query may see.

        Padding makes blocks shorter on a CPU alone: elsewhere the host would wait for the answer.
        """
        items = self.problem.grid.items
        seen = [items] * self.rows
        if self.device.type != "cpu":
            return seen
        for mask in self.problem.blocked:
            open_KM = (~mask.data).any(2).expand(-1, items)
            place_M = torch.arange(1, items + 1, device=open_KM.device)
            last_K = (open_KM * place_M).amax(1).tolist()
            seen = [min(limit, last_K[k]) for limit, k in zip(seen, mask.rows, strict=True)]
        return seen

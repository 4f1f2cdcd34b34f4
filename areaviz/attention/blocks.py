"""Blocks of rows and queries with their masked item scores, for the streamed implementation.

Shapes: N rows (batch and heads), Q queries, M items, E key width. A block holds [M, n, q] scores of
n rows and q queries. A mask has K rows, each of which may apply to many of the N rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from areaviz.attention.pooling import choose_sum_dtype
from areaviz.trace.areas import AreaGrid

# Score of a masked item. It is far below any real score, yet its mean with real scores stays finite
# and its exponential is 0.
MASKED = -1e30
# Scores are in units of log 2 because exp takes up to 200 times as long where its result underflows
# (torch 2.13 on a CPU), which happens for every masked score. exp2 does not slow down.
LOG2_E = math.log2(math.e)
# Number of values in one block, so that it fits the processor's cache, see benchmarks/README.md.
CPU_BLOCK, GPU_BLOCK = 1 << 20, 1 << 24


class RowMask(NamedTuple):
    """A mask or a bias, stored without its broadcast rows."""

    # [K, M, Q or 1]
    data: Tensor
    # Index into the K rows for each of the N rows: as a list on the host, and as a tensor on the
    # device of `data`.
    rows: list[int]
    index_N: Tensor

    def select_block(self, rows: slice, queries: slice, items: int) -> Tensor:
        """Return the part that applies to a block: [items, n or 1, q or 1]."""
        data = self.data[:, :items]
        if data.shape[2] > 1:
            data = data[:, :, queries]
        used = self.rows[rows]
        if len(set(used)) == 1:
            return data[used[0], :, None]
        return data[self.index_N[rows]].transpose(0, 1)


def transpose_mask(mask: Tensor, rows: torch.Size) -> RowMask:
    """Transpose a mask [..., Q or 1, M or 1] once, without copying broadcast rows."""
    lead = mask.shape[:-2]
    data_KMQ = mask.detach().flatten(0, -3).transpose(1, 2)
    index_N = torch.arange(lead.numel(), device="cpu").view(lead).expand(rows).flatten()
    there_N = torch.arange(lead.numel(), device=mask.device).view(lead).expand(rows).flatten()
    return RowMask(data_KMQ.contiguous(), index_N.tolist(), there_N)


@dataclass(frozen=True)
class Problem:
    """The parameters that all blocks of one call share."""

    grid: AreaGrid
    scale: float
    # True if an area's value is the mean of its items instead of the sum.
    average: bool
    blocked: tuple[RowMask, ...]
    bias: RowMask | None
    causal: bool

    @property
    def masked(self) -> bool:
        """True if some items are masked for some queries."""
        return self.causal or bool(self.blocked)


class Block(NamedTuple):
    """A block of rows x queries. Its queries may attend only to the first `items` items."""

    rows: slice
    queries: slice
    items: int

    @property
    def size(self) -> tuple[int, int]:
        """The number of rows n and of queries q."""
        return self.rows.stop - self.rows.start, self.queries.stop - self.queries.start


Outer = tuple[Tensor, Tensor, Tensor]
"""Quantities of a block that its backward pass needs.

They are the gradient of the output [n, q, V], its inner product with the output [n, q], and the
logarithm to base 2 of the summed exponentials [n, q].
"""


class Blocks:
    """The blocks that cover rows x queries, and their masked scores.

    A subclass defines two methods. `compute_coverage` returns three tensors for a block: the
    unscaled coverage [n, q, M] of its items, the largest logit [n, q], and the sum of the weights
    [n, q]. All logits were shifted by the largest one. `compute_gradients` returns the scaled
    coverage [n, M, q] and the gradient of the item scores [n, M, q].

    Args:
        problem: the parameters that all blocks share.
        like: a tensor of the rows [N, Q, ...], which gives the number of rows, the type and the
            device.
        live: number of values that a block holds at once per item and column.
    """

    def __init__(self, problem: Problem, like: Tensor, live: int) -> None:
        self.problem, self.dtype, self.device = problem, choose_sum_dtype(like.dtype), like.device
        self.rows, self.queries = rows, queries = like.shape[:2]
        budget = GPU_BLOCK if like.is_cuda else CPU_BLOCK
        columns = max(1, budget // (live * problem.grid.items))
        parts = -(-queries // columns)
        if problem.causal:
            # Shorter blocks skip more of the scores that causality masks.
            parts = max(parts, min(4, queries // 128))
        self.queries_per_block = max(1, -(-queries // max(1, parts)))
        self.rows_per_block = min(max(1, rows), max(1, columns // self.queries_per_block))
        # Cached causal masks. The key holds the number of items before the first masked one, the
        # number of items, and the number of queries.
        self.later: dict[tuple[int, int, int], Tensor] = {}

    def cut_grid(self, items: int) -> AreaGrid:
        """Return the areas of the first `items` items, which must be whole rows of the memory."""
        grid = self.problem.grid
        rows = items // grid.width
        return AreaGrid(rows, grid.width, min(grid.max_height, rows), grid.max_width)

    def write_scores(
        self, block: Block, query_NQE: Tensor, key_NME: Tensor, out_MNQ: Tensor
    ) -> None:
        """Write the masked, scaled item scores of a block, in units of log 2, to `out_MNQ`."""
        out, problem = out_MNQ.transpose(0, 1), self.problem
        key = key_NME[block.rows, : block.items].to(out.dtype)
        query = query_NQE[block.rows, block.queries].to(out.dtype)
        torch.baddbmm(
            out, key, query.transpose(1, 2), beta=0, alpha=problem.scale * LOG2_E, out=out
        )
        if problem.bias is not None:
            out_MNQ.add_(problem.bias.select_block(*block), alpha=LOG2_E)
        # Adding takes a fifth of the time of `masked_fill_` on a CPU.
        for mask in problem.blocked:
            out_MNQ.add_(mask.select_block(*block).to(out.dtype), alpha=MASKED)
        if problem.causal:
            self._hide_later(out_MNQ, block.queries.start)

    def _hide_later(self, scores_MNQ: Tensor, start: int) -> None:
        """Mask the items that causality hides from the queries from number `start` on."""
        items, _, columns = scores_MNQ.shape
        first = self.problem.grid.items - self.queries + start
        # Padding may already hide all items that causality would hide.
        begin = min(max(first, 0), items)
        place = (begin - first, items - begin, columns)
        if place not in self.later:
            item = torch.arange(begin - first, items - first, device=scores_MNQ.device)
            hidden_MQ = item[:, None] > torch.arange(columns, device=scores_MNQ.device)
            self.later[place] = hidden_MQ.to(scores_MNQ.dtype)
        scores_MNQ[begin:].add_(self.later[place][:, None], alpha=MASKED)

    def __iter__(self) -> Iterator[Block]:
        """Yield blocks that cover rows x queries. Skip blocks in which every item is masked."""
        problem, items = self.problem, self.problem.grid.items
        seen = self._find_last_seen()
        # Each length of a block needs its own filter, so there are only a few lengths. They are
        # whole rows of the memory.
        step = problem.grid.width * -(-problem.grid.height // 4)
        for j in range(0, self.queries, self.queries_per_block):
            end = min(self.queries, j + self.queries_per_block)
            limit = items - self.queries + end if problem.causal else items
            for i in range(0, self.rows, self.rows_per_block):
                stop = min(self.rows, i + self.rows_per_block)
                last = min(limit, max(seen[i:stop]))
                if last > 0:
                    yield Block(slice(i, stop), slice(j, end), min(items, -(-last // step) * step))

    def _find_last_seen(self) -> list[int]:
        """Return the number of items up to the last one that any query may attend to, per row.

        Padding makes blocks shorter on a CPU only. On other devices the host would have to wait for
        the result.
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

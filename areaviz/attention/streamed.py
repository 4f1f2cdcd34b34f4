"""Area attention without a key or value per area, computed block by block.

Blocks of scores come first, then the computations on one block, and `compute_streamed` comes
last. The comment above it explains why no keys of areas are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from areaviz.attention.keys import (
    AreaScores,
    BoundaryKeys,
    box_scatter,
    box_scatter_,
    choose_sum_dtype,
    compute_area_logit_gradients,
    compute_area_logits,
    count_area_items,
    write_area_logits,
    write_box,
)
from areaviz.attention.pooled import AreaResult, AreaSpec, compute_weights, multiply_weights
from areaviz.trace.areas import AreaGrid

# Blocks of rows and queries with their masked item scores, for the streamed implementation.
#
# Shapes: N rows (batch and heads), Q queries, M items, E key width. A block holds [M, n, q] scores
# of n rows and q queries. A mask has K rows, each of which may apply to many of the N rows.


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


# The computations of area attention on one block of scores, on views that are sliced once.
#
# Shapes: H x W memory grid, K columns (the queries of a block, innermost so that every slice is one
# contiguous run), areas of at most A x B items. A gradient block holds 2K columns: K logits, then K
# value gradients.


class BoxFilter:
    """A filter that computes the coverage of every item from the item scores in `items`.

    Scores are in units of log 2.

    For one width at a time, the areas grow downwards: mean(h) = lerp(mean(h-1), row, 1/h). The
    adjoint takes two passes: the weight of each area is added to the area that starts in the same
    place and is one row shorter, then the sums are added to the items below. All steps and their
    views are listed once, and the list runs for every block.

    Args:
        grid: the memory and its areas.
        columns: K.
        scratch: buffers [buffer_count, >= H*W*columns] (twice as long for a gradient). Their
            contents are overwritten.
        gradient: whether the block also holds value gradients.
        average: whether an area's value is the mean of its items instead of the sum.
    """

    def __init__(
        self, grid: AreaGrid, columns: int, scratch: Tensor, gradient: bool, average: bool
    ) -> None:
        self.grid, self.columns = grid, columns
        self.gradient, self.average = gradient, average
        self.items, self._means, self._run, self._shifted, *others = scratch
        # A cut grid may need fewer buffers than there are.
        covers = others[: grid.max_width]
        self._talls = others[grid.max_width : grid.max_width + grid.max_height - 1]
        self._total_K, self._delta_K = scratch.new_zeros(2, columns)
        self._steps: list[Callable[[], object]] = []
        cover = [
            self._add_strip_steps(width, buffer) for width, buffer in enumerate(covers, start=1)
        ]
        for w in range(grid.max_width - 1, 0, -1):
            self._add_step(cover[w - 1][:, :-1].add_, cover[w])
        for w in range(1, grid.max_width):
            self._add_step(cover[0][:, w:].add_, cover[w])
        self._cover = cover[0]

    def run(self, delta_K: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run all steps on the scores in `items`.

        Args:
            delta_K: in a gradient block, the inner product of the output and its gradient.

        Returns:
            The coverage [H, W, columns] and, in a forward pass, the total area weight [K]. In a
            gradient block, the second half of the columns is the gradient of the item scores.
        """
        self._total_K.zero_()
        if delta_K is not None:
            self._delta_K.copy_(delta_K)
        for step in self._steps:
            step()
        return self._cover, self._total_K

    def _add_strip_steps(self, width: int, buffer: Tensor) -> Tensor:
        """List the steps for the areas of one width and return the view of the areas of one row."""
        k, height, places = self.columns, self.grid.height, self.grid.width - width + 1
        items = self._view_buffer(self.items, height, self.grid.width)
        means = self._view_buffer(self._means, height, self.grid.width)
        row = (items if width == 1 else means)[:, :places]
        if width > 1:
            narrower = (items if width == 2 else means)[:, :places]
            self._add_step(torch.lerp, narrower, items[:, width - 1 :], 1 / width, out=row)
        pull = row[..., k:]
        if self.gradient and not self.average:
            # The shifted row has its own buffer because wider areas grow from the unshifted row.
            shifted = self._shifted[: height * places * k].view(height, places, k)
            self._add_step(torch.sub, pull, self._delta_K, alpha=1 / width, out=shifted)
            pull = shifted
        areas = [self._view_buffer(buffer, height, places)]
        self._add_weight_steps(row, pull, areas[0], width)
        for h, tall in enumerate(self._talls, start=2):
            mean = self._view_buffer(self._run, height - h + 1, places)
            if h > 2:
                self._add_step(torch.lerp, mean, row[h - 1 :], 1 / h, out=mean)
            else:
                self._add_step(torch.lerp, row[:-1, :, :k], row[1:, :, :k], 0.5, out=mean[..., :k])
                if self.gradient:
                    self._add_step(torch.lerp, pull[:-1], row[1:, :, k:], 0.5, out=mean[..., k:])
            areas.append(self._view_buffer(tall, height - h + 1, places))
            self._add_weight_steps(mean, mean[..., k:], areas[-1], h * width)
        for h in range(len(areas) - 1, 0, -1):
            self._add_step(areas[h - 1][:-1].add_, areas[h])
        if not self.gradient and not self.average:
            self._add_step(self._add_to_total, areas[0])
        for h in range(1, len(areas)):
            self._add_step(areas[0][h:].add_, areas[h])
        return areas[0]

    def _add_weight_steps(self, mean: Tensor, pull: Tensor, area: Tensor, size: int) -> None:
        """List the steps from the means of the areas of one shape to their weights."""
        weight = area[..., : self.columns]
        self._add_step(torch.exp2, mean[..., : self.columns], out=weight)
        if self.average:
            if not self.gradient:
                self._add_step(self._add_to_total, weight)
            self._add_step(weight.mul_, 1 / size)
        if self.gradient:
            self._add_step(torch.mul, pull, weight, out=area[..., self.columns :])

    def _add_to_total(self, weight: Tensor) -> None:
        self._total_K.add_(weight.sum((0, 1)))

    def _add_step(self, step: Callable[..., object], *inputs: object, **options: Any) -> None:
        self._steps.append(partial(step, *inputs, **options))

    def _view_buffer(self, buffer: Tensor, rows: int, places: int) -> Tensor:
        columns = self.columns * (2 if self.gradient else 1)
        return buffer[: rows * places * columns].view(rows, places, columns)


class MeanBlocks(Blocks):
    """Blocks that share the scratch memory of one pass and cache the filters made from it."""

    def __init__(self, problem: Problem, like: Tensor, gradient: bool) -> None:
        grid, halves = problem.grid, 2 if gradient else 1
        live = grid.max_height + grid.max_width + (2 if grid.max_width > 1 else 1)
        super().__init__(problem, like, live * halves)
        self.gradient = gradient
        buffers = 3 + grid.max_height + grid.max_width
        room = grid.items * self.rows_per_block * self.queries_per_block * halves
        self.scratch = torch.empty(buffers, room, dtype=self.dtype, device=like.device)
        self.filters: dict[tuple[int, int], BoxFilter] = {}

    def compute_coverage(
        self, block: Block, query: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the coverage of a block, see `Blocks`."""
        n, q = block.size
        boxes = self._get_filter(block.items, n * q)
        scores_Mnq = boxes.items[: block.items * n * q].view(block.items, n, q)
        self.write_scores(block, query, key, scores_Mnq)
        # Every single item is an area, and a mean never exceeds the largest item, so this is the
        # largest area logit.
        most_nq = scores_Mnq.amax(0)
        scores_Mnq.sub_(most_nq)
        coverage, weight_K = boxes.run()
        return coverage.view(block.items, n, q).permute(1, 2, 0), most_nq, weight_K.view(n, q)

    def compute_gradients(
        self, block: Block, query: Tensor, key: Tensor, value_nMV: Tensor, outer: Outer
    ) -> list[Tensor]:
        """Compute the gradients of a block, see `Blocks`."""
        grad_nqV, delta_nq, total_nq = outer
        items, (n, q) = block.items, block.size
        boxes = self._get_filter(items, n * q)
        both = boxes.items[: items * 2 * n * q].view(items, 2, n, q)
        scores_Mnq, pull_Mnq = both[:, 0], both[:, 1]
        self.write_scores(block, query, key, scores_Mnq)
        scores_Mnq.sub_(total_nq)
        torch.bmm(value_nMV, grad_nqV.transpose(1, 2), out=pull_Mnq.transpose(0, 1))
        if self.problem.average:
            pull_Mnq.sub_(delta_nq)
        result, _ = boxes.run(delta_nq.reshape(-1))
        return list(result.view(items, 2, n, q).permute(1, 2, 0, 3))

    def _get_filter(self, items: int, columns: int) -> BoxFilter:
        """Return the filter for this number of items and columns, and create it on first use."""
        if (items, columns) not in self.filters:
            self.filters[items, columns] = BoxFilter(
                self.cut_grid(items), columns, self.scratch, self.gradient, self.problem.average
            )
        return self.filters[items, columns]


# Blocks of area logits for keys with which an area can outweigh its items.
#
# This is the case for boundary keys and for a size bias on mean keys. The largest item logit is
# then no upper bound of the area logits. A block therefore holds the logits of all its areas and
# shifts them by the largest one. Shapes: N rows (batch and heads), Q queries, M items, R areas, S
# area shapes, E key width, V value width. A block holds n rows, q queries and K = n * q columns.


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


# Area attention without area keys or values, for mean keys (Eq. 3) and sum or mean values (Eq. 4).
#
# Since q . mean(k) = mean(q . k), area logits are running means of the item logits, and the output
# is the item coverage (the adjoint box sum of the area weights) times V. `compute_streamed` holds
# one block of scores at a time. Its backward pass recomputes the block from query, key, value,
# output and log-sum-exp. If area logits have more terms than the mean of their items (boundary
# keys, a size bias), blocks hold the logits of all their areas. `compute_with_weights` uses the
# same algebra and also returns the weights.
#
# Shapes: N rows (batch and heads), Q queries, M items, E key width, V value width, R areas. A block
# holds [M, n, q] scores of n rows and q queries.


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

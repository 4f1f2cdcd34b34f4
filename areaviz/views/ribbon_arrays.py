"""What the ribbon needs of a layer's weights, found for all queries and heads at once.

Shapes: H heads, Q queries, A areas, N memory items, K kept, C candidates, R rows (heads times queries, or one head's
queries).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import FloatArray, IntArray

CHUNK = 32  # rows handled together: few enough to stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The heaviest entries of every row, heaviest first; where nothing is left the weight is 0.

    index: int64 [..., K], of areas or of queries. weight: float32 [..., K], 0..1.
    """

    index: IntArray
    weight: FloatArray


def top_spans(
    weights_HQA: FloatArray, grid: AreaGrid, k: int, max_overlap: float = 0.5, min_size: int = 1, kept: int = 0
) -> Ranked:
    """The k heaviest areas of every query, skipping any that overlap a heavier one by more than `max_overlap` (IoU).

    min_size: spans of fewer items are left out. kept: if more than k, the heaviest of the others follow, up to so
    many in all. Indices [H, Q, K] are the grid's. Raises ValueError when the memory is not a sequence (height 1).
    """
    if grid.height != 1:
        raise ValueError(f"Spans need a memory of one row, but this one has {grid.height}.")
    rivals = _Rivals.of(grid, max_overlap)
    smaller = grid.slab(1, min_size)[0]  # how many areas of fewer items there are; they come first

    def of_head(weights_QA: FloatArray) -> Ranked:
        return _joined([of_rows(weights_QA[i : i + CHUNK]) for i in range(0, len(weights_QA), CHUNK)], np.concatenate)

    def of_rows(weights_RA: FloatArray) -> Ranked:
        found = _greedy(weights_RA, k, rivals, smaller)
        if kept <= k:
            return found
        counted_RA = np.where(np.arange(grid.count) < smaller, 0, weights_RA)
        return with_heaviest(counted_RA, np.where(found.weight > 0, found.index, -1), kept)

    return _joined(_each_head(of_head, weights_HQA), np.stack)


def with_heaviest(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """The candidates of every row (-1 stands for none), each once, and the heaviest others: `kept` in all, or A.

    Rows may have further axes before them.
    """
    most = min(kept, weights_RA.shape[-1])
    heaviest = np.argpartition(-weights_RA, most - 1)[..., :most]
    order = (-np.take_along_axis(weights_RA, heaviest, -1)).argsort(-1)
    return _first_ones(weights_RA, np.concatenate([index_RC, np.take_along_axis(heaviest, order, -1)], -1), most)


def _first_ones(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """The first `kept` different ones of every row of indices."""
    by_index = index_RC.argsort(-1, kind="stable")
    ordered = np.take_along_axis(index_RC, by_index, -1)
    again = ordered < 0
    again[..., 1:] |= ordered[..., 1:] == ordered[..., :-1]
    again_RC = np.empty_like(again)
    np.put_along_axis(again_RC, by_index, again, -1)
    places = again_RC.argsort(-1, kind="stable")[..., :kept]
    index = np.maximum(np.take_along_axis(index_RC, places, -1), 0)
    weight = np.where(np.take_along_axis(again_RC, places, -1), 0, np.take_along_axis(weights_RA, index, -1))
    return Ranked(index, weight)


def left_out(weights_HQA: FloatArray, kept: Ranked, min_size: int, grid: AreaGrid) -> FloatArray:
    """The weight of all areas of at least `min_size` items that were not kept: float32 [H, Q]."""
    whole_HQ = weights_HQA[..., grid.slab(1, min_size)[0] :].sum(-1)
    rest_HQ: FloatArray = np.maximum(whole_HQ - kept.weight.sum(-1), 0)
    return rest_HQ


def top_queries(weights_HQA: FloatArray, grid: AreaGrid, k: int) -> Ranked:
    """The k queries that attend most to every memory item, by coverage: index and weight are [H, N, k].

    Coverage is the share of a query's attention in areas that hold the item, 0..1.
    """

    def of_head(weights_QA: FloatArray) -> Ranked:
        coverage_NQ = np.empty((grid.width, len(weights_QA)), np.float32)
        for i in range(0, len(weights_QA), CHUNK):
            coverage_NQ[:, i : i + CHUNK] = span_coverage(weights_QA[i : i + CHUNK], grid).T
        return _greedy(coverage_NQ, k)

    return _joined(_each_head(of_head, weights_HQA), np.stack)


def span_coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
    """The weight of all spans that hold each item: float32 [R, N], by 2S-1 shifted additions for spans up to S."""
    rows, columns = len(weights_RA), grid.width
    at_least_RN = np.zeros((rows, columns), np.float32)  # by start, spans of at least `width` items
    coverage_RN = np.zeros((rows, columns), np.float32)
    for width in range(grid.max_width, 0, -1):
        first, _, starts = grid.slab(1, width)
        at_least_RN[:, :starts] += weights_RA[:, first : first + starts]
        coverage_RN[:, width - 1 :] += at_least_RN[:, :starts]
    return coverage_RN


@dataclass(frozen=True, slots=True, eq=False)
class _Rivals:
    """Which areas overlap a chosen one too much: a table of (width, shift of the start) for every chosen width."""

    grid: AreaGrid
    first: IntArray
    widths: IntArray
    shifts: IntArray

    @classmethod
    def of(cls, grid: AreaGrid, max_overlap: float) -> _Rivals:
        sizes = range(1, grid.max_width + 1)
        lists = [[p for w in sizes for p in _too_close(chosen, w, max_overlap)] for chosen in sizes]
        longest = max(map(len, lists))
        padded = np.array([[*pairs, *[(chosen, 0)] * (longest - len(pairs))] for chosen, pairs in enumerate(lists, 1)])
        first = np.array([grid.slab(1, width)[0] for width in sizes])
        return cls(grid, first, padded[..., 0], padded[..., 1])

    def indices(self, chosen_R: IntArray) -> IntArray:
        """The areas to strike out with each chosen one, itself included: int64 [R, rivals]."""
        width_R = np.searchsorted(self.first, chosen_R, side="right")
        start_R = chosen_R - self.first[width_R - 1]
        widths = self.widths[width_R - 1]
        starts = start_R[:, None] + self.shifts[width_R - 1]
        exists = (starts >= 0) & (starts <= self.grid.width - widths)
        return np.where(exists, self.first[widths - 1] + starts, chosen_R[:, None])


def _too_close(chosen: int, width: int, max_overlap: float) -> list[tuple[int, int]]:
    """(width, shift) of every span of `width` items that overlaps one of `chosen` items by more than allowed."""
    shared = {shift: min(chosen, shift + width) - max(0, shift) for shift in range(1 - width, chosen)}
    return [(width, s) for s, both in shared.items() if both > max_overlap * (chosen + width - both)]


def _greedy(values_RA: FloatArray, k: int, rivals: _Rivals | None = None, first: int = 0) -> Ranked:
    """Take the largest of each row from index `first` on, strike out its rivals, k times."""
    left_RA = np.array(values_RA, np.float32)
    left_RA[:, :first] = -1
    rows = np.arange(len(left_RA))
    picks = np.zeros((len(left_RA), k), np.int64)
    weights = np.zeros((len(left_RA), k), np.float32)
    for turn in range(k):
        chosen_R = left_RA.argmax(1)
        picks[:, turn] = chosen_R
        weights[:, turn] = np.maximum(left_RA[rows, chosen_R], 0)
        struck = chosen_R[:, None] if rivals is None else rivals.indices(chosen_R)
        left_RA[rows[:, None], struck] = -1
    return Ranked(picks, weights)


def _each_head(work: Callable[[FloatArray], Ranked], weights_HQA: FloatArray) -> list[Ranked]:
    """Heads side by side in threads: NumPy lets other threads run while it searches and adds."""
    with ThreadPoolExecutor(min(len(weights_HQA), os.cpu_count() or 1)) as threads:
        return list(threads.map(work, weights_HQA))


def _joined(parts: list[Ranked], join: Callable[..., Any]) -> Ranked:
    return Ranked(join([p.index for p in parts]), join([p.weight for p in parts]))

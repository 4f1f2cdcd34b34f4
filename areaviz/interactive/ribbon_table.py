"""The numbers under the ribbon: which spans the chosen queries attend to, or which queries attend
to the chosen items.

Shapes: Q queries, G groups of queries looked at together, N memory items, A areas, S spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing.base import Table
from areaviz.drawing.select import groups
from areaviz.trace.areas import AreaGrid
from areaviz.trace.query import coverage, merge_items, smallest_area
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import largest, top_listed

TOP = 4
"""Spans of a head that light up and are listed."""
COLUMNS = ("query", "head", "span", "start", "length", "weight")


@dataclass(frozen=True, slots=True)
class Span:
    """One thing a head attends to: `length` items of the memory from `start`, on behalf of some
    queries.
    """

    queries: tuple[int, ...]
    head: int
    start: int
    length: int
    weight: float


def ribbon_table(trace: Trace, focus: Focus) -> Table:
    """Every head's top spans for the chosen queries (all queries when none is chosen), heaviest
    first.

    Start counts items from 1. On the memory side: the queries that attend most to the chosen items.
    """
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    rows = [
        (
            items_text(query, span.queries),
            span.head + 1,
            items_text(memory, range(span.start, span.start + span.length)),
            span.start + 1,
            span.length,
            round(span.weight, 4),
        )
        for span in spans_of(trace, focus)
    ]
    return Table(COLUMNS, rows)


def spans_of(trace: Trace, focus: Focus, k: int = TOP) -> list[Span]:
    """What the table lists: the k heaviest a head and query (several chosen queries are averaged).

    Where words are pointed at, spans and queries are whole words: areas that widen to the same
    words count together.
    """
    attention, memory = trace.maps[focus.site], trace.fields[trace.maps[focus.site].memory]
    query = trace.fields[attention.query]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    if focus.side == "memory" and focus.items:
        return [
            span
            for head in heads
            for span in _attending(attention, focus, head, groups(query, focus.unit), k)
        ]
    singles = [tuple(range(*run)) for run in groups(query, focus.unit)]
    widen = Widened.of(attention.grid, memory, focus.unit)
    least = smallest_area(attention, focus)
    found = []
    for group in [focus.items] if focus.items else singles:
        for head in heads:
            mean_A = _mean(attention, focus.layer, head, group)
            found += [Span(group, head, *place) for place in widen.heaviest(mean_A, k, least)]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Widened:
    """Areas as a reader points at them: as they are, or widened to whole words.

    span: int64 [A], which span an area widens to. start, length: of every span.
    """

    grid: AreaGrid
    span: IntArray
    start: IntArray
    length: IntArray

    @classmethod
    def of(cls, grid: AreaGrid, memory: Field, unit: str) -> Widened:
        """By the words of a field, or by its items."""
        runs = np.array(groups(memory, unit))
        of_item = np.repeat(np.arange(len(runs)), runs[:, 1] - runs[:, 0])
        first, last = grid.table()[:, 1], grid.table()[:, 1] + grid.table()[:, 3] - 1
        ends = np.stack([runs[of_item[first], 0], runs[of_item[last], 1]], 1)
        spans, span = np.unique(ends, axis=0, return_inverse=True)
        return cls(grid, span.reshape(-1), spans[:, 0], spans[:, 1] - spans[:, 0])

    def heaviest(self, weights_A: FloatArray, k: int, least: int) -> list[tuple[int, int, float]]:
        """Start, length and weight of the k heaviest spans that do not overlap a heavier one too
        much.

        least: areas of fewer items are left out.
        """
        smaller = self.grid.slab(1, least)[0]
        weights_S = np.bincount(self.span[smaller:], weights_A[smaller:], len(self.start)).astype(
            np.float64
        )
        top_S, height_S = np.zeros_like(self.start), np.ones_like(self.start)
        spans_S4 = np.stack([top_S, self.start, height_S, self.length], 1)
        found = top_listed(weights_S, spans_S4, k)
        spans = found.index[found.weight > 0]
        return [
            (int(self.start[span]), int(self.length[span]), float(weights_S[span]))
            for span in spans
        ]


def items_text(field: Field, items: Sequence[int]) -> str:
    """What items read as: the raw text of each run of neighbours, the label of a symbol, runs
    joined by " + ".
    """
    runs: list[list[int]] = []
    for item in items:
        if (
            runs
            and runs[-1][-1] + 1 == item
            and not _is_symbol(field, item)
            and not _is_symbol(field, item - 1)
        ):
            runs[-1].append(item)
        else:
            runs.append([item])
    return " + ".join(_run_text(field, run) for run in runs)


def _run_text(field: Field, run: Sequence[int]) -> str:
    if _is_symbol(field, run[0]):
        return field.labels[run[0]]
    return field.raw[int(field.anchors[run[0], 0]) : int(field.anchors[run[-1], 1])]


def _is_symbol(field: Field, item: int) -> bool:
    """Whether an item stands for no text."""
    return bool(field.anchors[item, 0] == field.anchors[item, 1])


def _mean(attention: AttentionMap, layer: int, head: int, group: Sequence[int]) -> FloatArray:
    """The area weights of a head, averaged over a group of queries: float32 [A]."""
    weights_QA = attention.weights[layer, head]
    mean_A: FloatArray = (
        weights_QA[group[0]] if len(group) == 1 else weights_QA[list(group)].mean(0)
    )
    return mean_A


def _attending(
    attention: AttentionMap, focus: Focus, head: int, runs: Sequence[tuple[int, int]], k: int
) -> list[Span]:
    """The queries, in runs, whose areas cover the chosen memory items most (mean over queries and
    items).
    """
    items = list(focus.items)
    covered_QN = coverage(attention, focus.layer, head)
    covered_G = merge_items(covered_QN[:, items].mean(1)[:, None], runs)[:, 0]
    best = largest(covered_G, k)
    start, length = items[0], items[-1] - items[0] + 1
    pairs = zip(best.index.tolist(), best.weight.tolist(), strict=True)
    return [
        Span(tuple(range(*runs[group])), head, start, length, weight)
        for group, weight in pairs
        if group >= 0
    ]

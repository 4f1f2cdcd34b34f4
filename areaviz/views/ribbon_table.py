"""The numbers under the ribbon: which spans the chosen queries attend to, or which queries attend to the chosen items.

Shapes: H heads, G groups of items looked at together, A areas, K kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.trace.query import words
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.views.base import Table
from areaviz.views.ribbon_arrays import span_coverage, top_spans

TOP = 4
COLUMNS = ("query", "head", "span", "start", "length", "weight")


@dataclass(frozen=True, slots=True)
class Span:
    """One thing a head attends to: `length` items of the memory from `start`, on behalf of some queries."""

    queries: tuple[int, ...]
    head: int
    start: int
    length: int
    weight: float


def ribbon_table(trace: Trace, focus: Focus) -> Table:
    """Every head's top spans for the chosen queries (all queries when none is chosen), heaviest first.

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
    """What the table lists: the k heaviest a head and query (several chosen queries are averaged)."""
    attention = trace.maps[focus.site]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    if focus.side == "memory" and focus.items:
        return [span for head in heads for span in _attending(attention, focus, head, k)]
    groups = [focus.items] if focus.items else _single_or_words(trace.fields[attention.query], focus.unit)
    weights_HGA = np.stack([[_mean(attention, focus.layer, head, group) for group in groups] for head in heads])
    top = top_spans(weights_HGA, attention.grid, k, min_size=2 if only_several(attention, focus) else 1)
    spans = []
    for g, group in enumerate(groups):
        for h, head in enumerate(heads):
            for index, weight in zip(top.index[h, g].tolist(), top.weight[h, g].tolist(), strict=True):
                if weight > 0:
                    area = attention.grid.area(index)
                    spans.append(Span(group, head, area.left, area.width, weight))
    return spans


def only_several(attention: AttentionMap, focus: Focus) -> bool:
    """Whether single items are left out; never where there is nothing else."""
    return focus.areas == "several" and attention.grid.max_width > 1


def items_text(field: Field, items: Sequence[int]) -> str:
    """What items read as: the raw text of each run of neighbours, the label of a symbol, runs joined by " + "."""
    runs: list[list[int]] = []
    for item in items:
        if runs and runs[-1][-1] + 1 == item and not _is_symbol(field, item) and not _is_symbol(field, item - 1):
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


def _single_or_words(field: Field, unit: str) -> list[tuple[int, ...]]:
    if unit == "word":
        return [tuple(range(start, end)) for start, end in words(field)]
    return [(item,) for item in range(len(field))]


def _mean(attention: AttentionMap, layer: int, head: int, group: Sequence[int]) -> FloatArray:
    """The area weights of a head, averaged over a group of queries: float32 [A]."""
    weights_QA = attention.weights[layer, head]
    mean_A: FloatArray = weights_QA[group[0]] if len(group) == 1 else weights_QA[list(group)].mean(0)
    return mean_A


def _attending(attention: AttentionMap, focus: Focus, head: int, k: int) -> list[Span]:
    """The queries whose areas cover the chosen memory items most (mean over the items)."""
    items = list(focus.items)
    covered_Q = span_coverage(attention.weights[focus.layer, head], attention.grid)[:, items].mean(1)
    best = np.argsort(-covered_Q, kind="stable")[:k].tolist()
    start, length = items[0], items[-1] - items[0] + 1
    return [Span((query,), head, start, length, float(covered_Q[query])) for query in best if covered_Q[query] > 0]

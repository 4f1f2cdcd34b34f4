"""Words in place of pieces of words: a map as if each word of a text were one item.

Attention to a word is the sum over its pieces, attention from a word the mean over its pieces, as
alignment errors are measured (Och and Ney 2003; Ghader and Monz 2017). A view drawn of such a trace
shows words without knowing of pieces.

Shapes: L layers, H heads, Q queries, N items, A areas, R and C words that attend and are attended
to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from areaviz.drawing.base import View
from areaviz.drawing.select import Runs, Words, group_labels, word_groups
from areaviz.trace.areas import AreaGrid
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.query import item_shares, merge_items
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray, Trace
from areaviz.trace.request import Focus

JOINED = ", joined to words"


def over_words(view: View, spans: bool = False) -> View:
    """The view, of words where a reader points at words.

    Args:
        view: of a trace whose items may be anything.
        spans: whether it shows areas, each then as the words that it touches; else it shows what
            items receive.
    """

    def at(draw: Callable[[Trace, Focus], Any]) -> Callable[[Trace, Focus], Any]:
        return lambda trace, focus: draw(*in_words(trace, focus, spans))

    return replace(
        view,
        fits=at(view.fits),
        figure=at(view.figure),
        table=at(view.table),
        print=at(view.print),
    )


def in_words(trace: Trace, focus: Focus, spans: bool = False) -> tuple[Trace, Focus]:
    """The focused map over words, and the focus in it; both as they are where no word is meant.

    Args:
        trace: of any kind; what is no text keeps its items.
        focus: on a map.
        spans: whether areas stay areas; else weights are shares of words.
    """
    attention = trace.maps.get(focus.site)
    if attention is None or focus.unit != "word":
        return trace, focus
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    rows, columns = word_groups(query, "word"), word_groups(memory, "word")
    if len(rows) == len(query) and len(columns) == len(memory):
        return trace, focus
    make = _spans if spans and attention.grid.height == 1 else _shares
    grid, fetch = make(attention, rows, columns)
    shape = attention.layers, attention.heads, len(rows), grid.count
    worded = replace(
        attention,
        grid=grid,
        weights=cast(FloatArray, LayeredWeights(shape, fetch)),
        normalisation=attention.normalisation + JOINED,
        chosen=None,
        strength=None,
    )
    fields = {query.name: _joined(query, rows), memory.name: _joined(memory, columns)}
    runs, chosen = rows if focus.side == "query" else columns, set(focus.items)
    items = tuple(n for n, run in enumerate(runs) if not chosen.isdisjoint(range(*run)))
    found = replace(trace, fields={**trace.fields, **fields}, maps={focus.site: worded})
    return found, replace(focus, items=items)


def _joined(field: Field, runs: Runs) -> Field:
    """A text with a word as each item; what is no text stays."""
    if field.kind != "text":
        return field
    anchors = [(field.anchors[first, 0], field.anchors[last - 1, 1]) for first, last in runs]
    labels = group_labels(field, runs)
    return Words(field.name, field.kind, field.raw, labels, np.array(anchors, np.int64))


Fetch = Callable[[int], FloatArray]


def _shares(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """What words receive: shares of items, added up."""
    grid = AreaGrid(1, len(columns), 1, 1)
    if attention.grid.height > 1:
        grid = replace(attention.grid, max_height=1, max_width=1)
    return grid, partial(_shares_of_layer, attention, rows, columns)


def _shares_of_layer(attention: AttentionMap, rows: Runs, columns: Runs, layer: int) -> FloatArray:
    heads = [item_shares(attention, layer, head) for head in range(attention.heads)]
    return np.stack([merge_items(shares_QN, rows, columns) for shares_QN in heads])


def _spans(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """Areas widened to whole words; the weights of those that become the same add up."""
    word_N = np.repeat(np.arange(len(columns)), [last - first for first, last in columns])
    _, left_A, _, width_A = attention.grid.table().T
    first_A, last_A = word_N[left_A], word_N[left_A + width_A - 1]
    grid = AreaGrid(1, len(columns), 1, int((last_A - first_A).max()) + 1)
    begins_S = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
    return grid, partial(
        _spans_of_layer, attention, rows, begins_S[last_A - first_A] + first_A, grid
    )


def _spans_of_layer(
    attention: AttentionMap, rows: Runs, place_A: IntArray, grid: AreaGrid, layer: int
) -> FloatArray:
    order_A = np.argsort(place_A, kind="stable")
    places, begins = np.unique(place_A[order_A], return_index=True)
    found = np.zeros((attention.heads, len(rows), grid.count), np.float32)
    for head in range(attention.heads):
        weights_QA = attention.weights[layer, head][:, order_A]
        found[head][:, places] = merge_items(np.add.reduceat(weights_QA, begins, axis=1), rows)
    return found

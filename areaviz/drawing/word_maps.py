"""Conversion of a map over subwords to a map in which each word of a text is one item.

Attention to a word is the sum over its subwords, and attention from a word is the mean over its
subwords, as in alignment error rates (Och and Ney 2003, Ghader and Monz 2017). A view of such a
trace shows words and needs no code for subwords.

Shapes: L layers, H heads, Q queries, N items, A areas, R query words, C memory words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from areaviz.drawing.base import View
from areaviz.drawing.select import Runs, Words, group_labels, group_words
from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.query import item_shares, merge_items
from areaviz.trace.record import AttentionMap, Field, LayeredWeights, Trace
from areaviz.trace.request import Focus

JOINED_NOTE = ", joined to words"


def make_word_view(view: View, spans: bool = False) -> View:
    """Return a view that shows words if the focus has the unit "word".

    Args:
        view: a view of a trace with any items.
        spans: whether the view shows areas, each widened to the words that it touches. Otherwise it
            shows the attention that items receive.
    """

    def at(draw: Callable[[Trace, Focus], Any]) -> Callable[[Trace, Focus], Any]:
        return lambda trace, focus: draw(*convert_to_words(trace, focus, spans))

    return replace(
        view,
        fits=at(view.fits),
        figure=at(view.figure),
        table=at(view.table),
        print=at(view.print),
    )


def convert_to_words(trace: Trace, focus: Focus, spans: bool = False) -> tuple[Trace, Focus]:
    """Return the focused map over words, and the focus in that map.

    Both are returned unchanged if the focus is not on words.

    Args:
        trace: a trace of any kind. Fields that are not texts keep their items.
        focus: a focus on a map.
        spans: whether areas stay areas. Otherwise weights become shares of words.
    """
    attention = trace.maps.get(focus.site)
    if attention is None or focus.unit != "word":
        return trace, focus
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    rows, columns = group_words(query, "word"), group_words(memory, "word")
    if len(rows) == len(query) and len(columns) == len(memory):
        return trace, focus
    make = _make_word_spans if spans and attention.grid.height == 1 else _make_word_shares
    grid, fetch = make(attention, rows, columns)
    shape = attention.layers, attention.heads, len(rows), grid.count
    worded = replace(
        attention,
        grid=grid,
        weights=cast(FloatArray, LayeredWeights(shape, fetch)),
        normalisation=attention.normalisation + JOINED_NOTE,
        chosen=None,
        strength=None,
    )
    fields = {query.name: _join_field(query, rows), memory.name: _join_field(memory, columns)}
    runs, chosen = rows if focus.side == "query" else columns, set(focus.items)
    items = tuple(n for n, run in enumerate(runs) if not chosen.isdisjoint(range(*run)))
    found = replace(trace, fields={**trace.fields, **fields}, maps={focus.site: worded})
    return found, replace(focus, items=items)


def _join_field(field: Field, runs: Runs) -> Field:
    """Return a text with one item per word, or another field unchanged."""
    if field.kind != "text":
        return field
    anchors = [(field.anchors[first, 0], field.anchors[last - 1, 1]) for first, last in runs]
    labels = group_labels(field, runs)
    return Words(field.name, field.kind, field.raw, labels, np.array(anchors, np.int64))


Fetch = Callable[[int], FloatArray]


def _make_word_shares(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """Return a grid of single words, and a function that returns their shares in a layer.

    The share of a word is the sum over its items.
    """
    grid = AreaGrid(1, len(columns), 1, 1)
    if attention.grid.height > 1:
        grid = replace(attention.grid, max_height=1, max_width=1)
    return grid, partial(_compute_layer_shares, attention, rows, columns)


def _compute_layer_shares(
    attention: AttentionMap, rows: Runs, columns: Runs, layer: int
) -> FloatArray:
    heads = [item_shares(attention, layer, head) for head in range(attention.heads)]
    return np.stack([merge_items(shares_QN, rows, columns) for shares_QN in heads])


def _make_word_spans(attention: AttentionMap, rows: Runs, columns: Runs) -> tuple[AreaGrid, Fetch]:
    """Widen areas to whole words, and add the weights of areas that become equal.

    Returns:
        The grid of areas of words, and a function that returns the weights of a layer.
    """
    word_N = np.repeat(np.arange(len(columns)), [last - first for first, last in columns])
    _, left_A, _, width_A = attention.grid.table().T
    first_A, last_A = word_N[left_A], word_N[left_A + width_A - 1]
    grid = AreaGrid(1, len(columns), 1, int((last_A - first_A).max()) + 1)
    begins_S = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
    return grid, partial(
        _compute_layer_spans, attention, rows, begins_S[last_A - first_A] + first_A, grid
    )


def _compute_layer_spans(
    attention: AttentionMap, rows: Runs, place_A: IntArray, grid: AreaGrid, layer: int
) -> FloatArray:
    order_A = np.argsort(place_A, kind="stable")
    places, begins = np.unique(place_A[order_A], return_index=True)
    found = np.zeros((attention.heads, len(rows), grid.count), np.float32)
    for head in range(attention.heads):
        weights_QA = attention.weights[layer, head][:, order_A]
        found[head][:, places] = merge_items(np.add.reduceat(weights_QA, begins, axis=1), rows)
    return found

"""Whether what is attended to holds the word that people linked with what is being written.

A query is an item of a written word that has a link; a span is right where it holds a linked word
or an item of it, and right in whole where it holds all its items. Beside the heaviest spans of a
head stand spans of the same sizes anywhere in the text, the single items that win in the same head,
and, as a head without areas could show them, the item with the most attention together with the
heavier of its two neighbours.

Shapes: H heads, N items, A areas, W widths of areas, S any number of spans.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
import numpy.typing as npt

from areaviz.metrics.words import Array, Counts, word_runs
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, FloatArray, IntArray, Trace

SITE = "encoder-decoder"
Links = Set[tuple[int, int]]
Run = tuple[int, int]
BoolArray = npt.NDArray[np.bool_]
ENDS = ("", "_whole")
"""Ends of names: of what is right, and of what is right in whole."""


class LinkedCounts(Counts):
    """Sums over queries by name, each float64 [L, H]."""

    def figures(self) -> dict[str, Array]:
        """The figures of every head, each float64 [L, H]; NaN where there is no such query.

        linked_span_share: queries whose heaviest area is a span of two or more items.
        span: of these, the share that is right. span_random: of spans of their sizes anywhere.
        single: of the queries whose heaviest area is one item, the share that is right. top: the
        same of all queries. pair: of all queries, the share where the heaviest item with its
        heavier neighbour is right. With _whole behind: right in whole.
        """
        sums, queries, spans = self.sums, self.sums["queries"], self.sums["spans"]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {"linked_span_share": spans / queries}
            for end in ENDS:
                span, single = sums[f"span{end}"], sums[f"single{end}"]
                found[f"span{end}"] = span / spans
                found[f"span_random{end}"] = sums[f"span_random{end}"] / spans
                found[f"single{end}"] = single / (queries - spans)
                found[f"top{end}"] = (span + single) / queries
                found[f"pair{end}"] = sums[f"pair{end}"] / queries
        return found


def linked_counts(trace: Trace, links: Links) -> LinkedCounts:
    """The counts of one translation.

    Args:
        trace: it has a map of `SITE` over a text.
        links: (source word, target word), each counted from 0 between blanks.
    """
    attention = trace.maps[SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    words = word_runs(source)
    rows: list[tuple[int, list[Run]]] = []
    for number, (start, end) in enumerate(word_runs(target)):
        linked = [words[i] for i, j in sorted(links) if j == number and i < len(words)]
        if linked:
            rows += [(query, linked) for query in range(start, end)]
    layers = [_layer_sums(attention, layer, rows) for layer in range(attention.layers)]
    return LinkedCounts.of_layers(layers)


def right(left_S: IntArray, end_S: IntArray, linked: Sequence[Run], whole: bool) -> BoolArray:
    """Whether each span, from `left` up to `end`, holds a linked word, or all of one: bool [S]."""
    right_S = np.zeros(np.shape(left_S), dtype=bool)
    for start, end in linked:
        if whole:
            right_S |= (left_S <= start) & (end <= end_S)
        else:
            right_S |= (left_S < end) & (start < end_S)
    return right_S


def _layer_sums(
    attention: AttentionMap, layer: int, rows: Sequence[tuple[int, list[Run]]]
) -> dict[str, Array]:
    """All sums of one layer, each [H]; rows: queries, and the items of the words linked to each."""
    _, left_A, _, width_A = attention.grid.table().T
    shares_HQN = np.stack([item_shares(attention, layer, h) for h in range(attention.heads)])
    names = [name + end for name in ("span", "span_random", "single", "pair") for end in ENDS]
    sums = {name: np.zeros(attention.heads) for name in ("queries", "spans", *names)}
    for query, linked in rows:
        top_H = attention.weights[layer, :, query].argmax(-1)
        is_span_H = width_A[top_H] > 1
        first_H, last_H = _pairs(shares_HQN[:, query])
        sums["queries"] += 1
        sums["spans"] += is_span_H
        for end in ENDS:
            right_A = right(left_A, left_A + width_A, linked, whole=bool(end))
            chance_W = _by_width(right_A, width_A)
            sums[f"span{end}"] += right_A[top_H] & is_span_H
            sums[f"span_random{end}"] += is_span_H * chance_W[width_A[top_H]]
            sums[f"single{end}"] += right_A[top_H] & ~is_span_H
            sums[f"pair{end}"] += right(first_H, last_H + 1, linked, whole=bool(end))
    return sums


def _by_width(right_A: BoolArray, width_A: IntArray) -> Array:
    """The share of the spans of each width that is right: float64 [W], 0 for width 0."""
    chance: Array = np.bincount(width_A, right_A) / np.maximum(np.bincount(width_A), 1)
    return chance


def _pairs(shares_HN: FloatArray) -> tuple[IntArray, IntArray]:
    """The first and last item of each head's heaviest item with its heavier neighbour: [H] each."""
    edged = np.pad(shares_HN, ((0, 0), (1, 1)), constant_values=-1)
    item_H = shares_HN.argmax(-1)
    row_H = np.arange(len(item_H))
    before_H, after_H = edged[row_H, item_H], edged[row_H, item_H + 2]
    # A text of one item has no neighbour; of equal ones the earlier is taken.
    takes_before_H = (before_H >= after_H) & (before_H >= 0)
    takes_after_H = (after_H > before_H) & (after_H >= 0)
    return item_H - takes_before_H, item_H + takes_after_H

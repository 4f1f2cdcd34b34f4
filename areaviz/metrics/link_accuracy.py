"""Metrics of whether attention finds the source word that is linked to the word being written.

A query is an item of a written word that has a link. A span is right if it contains a linked word
or an item of one. It is wholly right if it contains all items of a linked word. The top spans of a
head are compared with three baselines: spans of the same sizes at random positions, single items
that are top areas of the head, and pairs. A pair is the top item with the heavier of its two
neighbours, which a head without areas could show as well.

Shapes: H heads, N items, A areas, W widths of areas, S any number of spans.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
import numpy.typing as npt

from areaviz.measures.spans import Array, Counts, find_word_runs
from areaviz.trace.areas import FloatArray, IntArray
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Trace

SITE = "encoder-decoder"
Links = Set[tuple[int, int]]
Run = tuple[int, int]
BoolArray = npt.NDArray[np.bool_]
BASELINES = ("span_random", "span_diagonal")
"""Names of the baselines with spans of equal sizes."""
ENDS = ("", "_whole")
"""Suffixes of names for right and for wholly right spans."""


class LinkedCounts(Counts):
    """Sums over queries by name, each float64 [L, H]."""

    def figures(self) -> dict[str, Array]:
        """Return the figures of every head, each float64 [L, H], NaN without such a query.

        - linked_span_share: share of queries whose top area is a span of two or more items.
        - span: share of these spans that are right.
        - span_random: share of right spans among spans of equal sizes at random positions.
        - span_diagonal: share of right spans among spans of equal sizes on the diagonal, which have
          the relative place of the query as their middle.
        - single: share of right top areas among those of one item.
        - top: share of right top areas among all queries.
        - pair: share of queries for which the top item with its heavier neighbour is right.

        The suffix _whole means wholly right.
        """
        sums, queries, spans = self.sums, self.sums["queries"], self.sums["spans"]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {"linked_span_share": spans / queries}
            for end in ENDS:
                span, single = sums[f"span{end}"], sums[f"single{end}"]
                found[f"span{end}"] = span / spans
                for beside in BASELINES:
                    found[f"{beside}{end}"] = sums[f"{beside}{end}"] / spans
                found[f"single{end}"] = single / (queries - spans)
                found[f"top{end}"] = (span + single) / queries
                found[f"pair{end}"] = sums[f"pair{end}"] / queries
        return found


def count_linked_words(trace: Trace, links: Links) -> LinkedCounts:
    """Return the counts of one translation.

    Args:
        trace: Trace with a map of `SITE` whose memory is a text.
        links: Links (source word, target word). Words are separated by spaces and counted from 0.
    """
    attention = trace.maps[SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    words = find_word_runs(source)
    rows: list[tuple[int, list[Run]]] = []
    for number, (start, end) in enumerate(find_word_runs(target)):
        linked = [words[i] for i, j in sorted(links) if j == number and i < len(words)]
        if linked:
            rows += [(query, linked) for query in range(start, end)]
    layers = [_sum_layer(attention, layer, rows) for layer in range(attention.layers)]
    return LinkedCounts.of_layers(layers)


def contains_aligned_word(
    left_S: IntArray, end_S: IntArray, linked: Sequence[Run], whole: bool
) -> BoolArray:
    """Return whether each span from `left` to `end` (exclusive) is right: bool [S].

    A right span contains an item of a linked word. With `whole` it must contain all items of one.
    """
    right_S = np.zeros(np.shape(left_S), dtype=bool)
    for start, end in linked:
        if whole:
            right_S |= (left_S <= start) & (end <= end_S)
        else:
            right_S |= (left_S < end) & (start < end_S)
    return right_S


def _sum_layer(
    attention: AttentionMap, layer: int, rows: Sequence[tuple[int, list[Run]]]
) -> dict[str, Array]:
    """Return all sums of one layer, each [H].

    Args:
        attention: The map.
        layer: Layer, from 0.
        rows: For each query, its index and the items of each word linked to it.
    """
    _, left_A, _, width_A = attention.grid.table().T
    shares_HQN = np.stack([item_shares(attention, layer, h) for h in range(attention.heads)])
    names = [name + end for name in ("span", *BASELINES, "single", "pair") for end in ENDS]
    sums = {name: np.zeros(attention.heads) for name in ("queries", "spans", *names)}
    for query, linked in rows:
        top_H = attention.weights[layer, :, query].argmax(-1)
        is_span_H = width_A[top_H] > 1
        first_H, last_H = _find_top_pairs(shares_HQN[:, query])
        items, queries = shares_HQN.shape[2], shares_HQN.shape[1]
        on_diagonal_H = find_diagonal_spans(width_A[top_H], (query + 0.5) / queries, items)
        sums["queries"] += 1
        sums["spans"] += is_span_H
        for end in ENDS:
            right_A = contains_aligned_word(left_A, left_A + width_A, linked, whole=bool(end))
            chance_W = _average_by_width(right_A, width_A)
            sums[f"span{end}"] += right_A[top_H] & is_span_H
            sums[f"span_random{end}"] += is_span_H * chance_W[width_A[top_H]]
            on_it_H = contains_aligned_word(
                on_diagonal_H, on_diagonal_H + width_A[top_H], linked, whole=bool(end)
            )
            sums[f"span_diagonal{end}"] += is_span_H & on_it_H
            sums[f"single{end}"] += right_A[top_H] & ~is_span_H
            sums[f"pair{end}"] += contains_aligned_word(
                first_H, last_H + 1, linked, whole=bool(end)
            )
    return sums


def find_diagonal_spans(width_H: IntArray, place: float, items: int) -> IntArray:
    """Return the left edges of spans of these widths centred on a place, 0..1: int64 [H]."""
    left_H: IntArray = np.rint(place * items - width_H / 2).astype(np.int64)
    return np.clip(left_H, 0, items - width_H)


def _average_by_width(right_A: BoolArray, width_A: IntArray) -> Array:
    """Return the share of right spans of each width: float64 [W], 0 for width 0."""
    chance: Array = np.bincount(width_A, right_A) / np.maximum(np.bincount(width_A), 1)
    return chance


def _find_top_pairs(shares_HN: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the ends of each head's top item with its heavier neighbour: [H] each."""
    edged = np.pad(shares_HN, ((0, 0), (1, 1)), constant_values=-1)
    item_H = shares_HN.argmax(-1)
    row_H = np.arange(len(item_H))
    before_H, after_H = edged[row_H, item_H], edged[row_H, item_H + 2]
    # A text of one item has no neighbour. Ties are resolved in favour of the earlier one.
    takes_before_H = (before_H >= after_H) & (before_H >= 0)
    takes_after_H = (after_H > before_H) & (after_H >= 0)
    return item_H - takes_before_H, item_H + takes_after_H

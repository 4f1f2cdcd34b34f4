"""The behaviour of attention heads, and names for heads by their behaviour.

`count_heads` measures heads, and `name_head` names a head by these figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.measures.spans import (
    MEASURES,
    Array,
    Counts,
    WordAreas,
    add_by_site,
    count_visible_items,
    find_word_runs,
)
from areaviz.trace.areas import FloatArray, IntArray
from areaviz.trace.query import compute_entropy_bits, item_shares, query_dependence
from areaviz.trace.record import AttentionMap, Field, Trace

# The behaviour of attention heads: dependence on the query, and how often spans win.
#
# Query dependence is the mutual information of the query and the attended item, see
# `areaviz.trace.query`. A diagonal has the maximum.
#
# Shapes: L layers, H heads, Q queries, N items, A areas, O offsets between a query and its top
# item, S queries that attend to anything.


LONG_MEASURES = ("long_exact", "long_edge")
MOST_OFFSET = 12
"""Offsets of top items are counted up to this many items before and after the query."""


class HeadCounts(Counts):
    """Sums over queries by name, each float64 [L, H], [L, H, O] or [L, H, N]."""

    def figures(self) -> dict[str, Array]:
        """Return the figures of every head, each float64 [L, H], NaN if undefined.

        - dependence: I in bits, averaged over examples.
        - dependence_share: its share of H(mean map).
        - dependence_diagonal: I of a head that follows the diagonal, in bits.
        - sink: largest share of attention on one item over all queries, averaged over examples.
        - cell: for pictures, largest share on one cell over all examples.
        - previous: for texts, share of queries whose top item is the preceding one.
        - offset and offset_share: for texts, the most frequent distance from query to top item, and
          its share.
        - multi_share: share of queries whose top area has two or more items.
        - edge: share of queries whose top area begins or ends a word, with edge_random for areas of
          the same sizes at random positions in the text, and edge_lift.
        - long_exact: share of the top areas of two or more items that are exactly a word, with
          _random and _lift.
        - long_edge: share of these that begin or end a word, with _random and _lift.
        """
        sums, queries = self.sums, self.sums["queries"]
        best_LH = sums["offsets"].argmax(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {
                "dependence": sums["dependence"] / sums["examples"],
                "dependence_share": sums["dependence"] / sums["mean_entropy"],
                "dependence_diagonal": sums["diagonal"] / sums["examples"],
                "sink": sums["sink"] / sums["examples"],
                "multi_share": sums["long"] / queries,
            }
            if "cells" in sums:
                found["cell"] = sums["cells"].max(-1) / queries
            else:
                found["previous"] = sums["previous"] / queries
                found["offset"] = best_LH - float(MOST_OFFSET)
                found["offset_share"] = sums["offsets"].max(-1) / queries
            for name, cases in (
                ("edge", queries),
                *dict.fromkeys(LONG_MEASURES, sums["long"]).items(),
            ):
                found[name] = sums[name] / cases
                found[f"{name}_random"] = sums[f"{name}_random"] / cases
                found[f"{name}_lift"] = found[name] / found[f"{name}_random"]
        return found


def count_heads(traces: Iterable[Trace]) -> dict[str, HeadCounts]:
    """Return the counts of every site, summed over traces of one model. Traces are read once."""
    return add_by_site(
        (site, count_over_heads(attention, trace.fields[attention.memory]))
        for trace in traces
        for site, attention in trace.maps.items()
    )


def count_over_heads(attention: AttentionMap, memory: Field) -> HeadCounts:
    """Return the counts of one map. Those of words are 0 unless the memory is a text."""
    layers = [_count_layer(attention, layer, memory) for layer in range(attention.layers)]
    return HeadCounts.of_layers(layers)


def _count_layer(attention: AttentionMap, layer: int, memory: Field) -> dict[str, Array]:
    """Return all sums of one layer, each [H], [H, O] or [H, N]."""
    # Item q of a history is the item before query q, so offsets are shifted.
    shift = -1 if attention.memory == "history" else 0
    rows, cells_HN = [], []
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        rows.append(_sum_over_items(shares_QN, shift))
        cells_HN.append(shares_QN.sum(0, dtype=np.float64))
    sums = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    if memory.is_picture:  # its cells are the same positions in every example
        sums["cells"] = np.stack(cells_HN)
    return sums | _sum_over_top_areas(attention, layer, memory)


def _sum_over_items(shares_QN: FloatArray, shift: int) -> dict[str, float | IntArray]:
    """Return the sums of one head over items, with `shift` added to all offsets."""
    seen_Q = shares_QN.any(-1)
    query_Q = np.flatnonzero(seen_Q)
    found_SN = shares_QN[seen_Q]
    offset_Q = found_SN.argmax(-1) - query_Q + shift
    near_Q = offset_Q[np.abs(offset_Q) <= MOST_OFFSET]
    dependence, mean_bits = query_dependence(shares_QN)
    return {
        "examples": 1.0,
        "queries": float(len(query_Q)),
        "dependence": dependence,
        "diagonal": compute_diagonal_dependence(*found_SN.shape),
        "mean_entropy": mean_bits,
        "sink": float(found_SN.mean(0).max()) if len(query_Q) else 0.0,
        "previous": float((offset_Q == -1).sum()),
        "offsets": np.bincount(near_Q + MOST_OFFSET, minlength=2 * MOST_OFFSET + 1),
    }


def compute_diagonal_dependence(queries: int, items: int) -> float:
    """Return I, in bits, of a head that follows the diagonal, which is the maximum."""
    if not queries:
        return 0.0
    item_Q = (2 * np.arange(queries) + 1) * items // (2 * queries)
    mean_N = np.bincount(item_Q, minlength=items) / queries
    return float(compute_entropy_bits(mean_N))


def _sum_over_top_areas(attention: AttentionMap, layer: int, memory: Field) -> dict[str, Array]:
    """Return sums over the top areas of all queries, or of those with two or more items: [H]."""
    weights_HQA = attention.weights[layer]
    top_HQ, seen_HQ = weights_HQA.argmax(-1), weights_HQA.any(-1)
    long_HQ = (attention.grid.sizes()[top_HQ] > 1) & seen_HQ
    sums = {"long": long_HQ.sum(-1).astype(np.float64)}
    if not memory.is_text:
        names = [name + end for name in ("edge", *LONG_MEASURES) for end in ("", "_random")]
        return sums | dict.fromkeys(names, np.zeros(attention.heads))
    areas = WordAreas.of(attention.grid, memory)
    width_HQ, visible_Q = areas.width_A[top_HQ], count_visible_items(attention, memory)
    exact_A = areas.hits_AM[:, MEASURES.index("exact")]
    edge_A = _find_word_edges(areas, memory)
    for name, hits_A, of_HQ in (
        ("edge", edge_A, seen_HQ),
        ("long_exact", exact_A, long_HQ),
        ("long_edge", edge_A, long_HQ),
    ):
        chance_HQ = _compute_expected_hits(areas, hits_A, width_HQ, visible_Q)
        sums[name] = (hits_A[top_HQ] * of_HQ).sum(-1)
        sums[f"{name}_random"] = (chance_HQ * of_HQ).sum(-1)
    return sums


def _find_word_edges(areas: WordAreas, memory: Field) -> Array:
    """Return whether each area begins where a word begins or ends where one ends: float64 [A]."""
    starts_N, ends_N = np.zeros(len(memory)), np.zeros(len(memory))
    for start, end in find_word_runs(memory):
        starts_N[start] = ends_N[end - 1] = 1
    last_A = areas.left_A + areas.width_A - 1
    edges: Array = np.maximum(starts_N[areas.left_A], ends_N[last_A])
    return edges


def _compute_expected_hits(
    areas: WordAreas, hits_A: Array, width_HQ: IntArray, visible_Q: IntArray
) -> Array:
    """Return expected hits of areas of these widths at random visible positions: [H, Q]."""
    before_A = np.concatenate([[0.0], hits_A.cumsum()])
    first_HQ = areas.first_W[width_HQ - 1]
    places_HQ = np.maximum(visible_Q - width_HQ + 1, 1)
    chance: Array = (before_A[first_HQ + places_HQ] - before_A[first_HQ]) / places_HQ
    return chance


# Names for heads by their behaviour over a dataset, and the choice of the best head for spans.
#
# Both read the figures of a site as cards and tables store them: for each metric, the values by
# layer and head, with None for an undefined value.
# Layers and heads are counted from 0.


Figures = Mapping[str, Any]

WANTED: Mapping[str, tuple[float, float]] = {
    "encoder self": (0.6, 4.0),
    "encoder-decoder": (0.2, 2.0),
}
"""Wanted figures by site: the minimum share of queries with a multi-item top area in one head, and
the minimum lift of these areas for being exactly a word. A lift is a rate divided by its chance.
The head must depend on its query more than any head of the untrained network.
"""
HALF = 0.5
"""Share of queries, or of the mean map, from which a head gets a name."""
EDGES = 2.0
"""Lift of top areas that begin or end a word from which a head gets a name."""


@dataclass(frozen=True, slots=True)
class SpanHead:
    """The head of a site that comes closest to the wanted figures, see `WANTED`."""

    # Counted from 0.
    layer: int
    head: int
    # Share of queries whose top area has two or more items.
    multi_share: float
    # Rate at which these areas are exactly a word, divided by its chance.
    exact_lift: float


@dataclass(frozen=True, slots=True)
class HeadName:
    """A name for a head's behaviour."""

    name: str
    # Text for users with the figure on which the name is based.
    earned_by: str

    def __str__(self) -> str:
        return f"{self.name} ({self.earned_by})"


def choose_span_head(
    figures: Figures, floor: float, wanted: tuple[float, float], words: bool = True
) -> SpanHead | None:
    """Return the head closest to the wanted figures, among those that depend on their query.

    A ratio is the head's share or lift divided by the wanted one. Closeness is the smaller ratio.

    Args:
        figures: Figures of a site.
        floor: Minimum dependence of a head in bits, that of untrained heads.
        wanted: An entry of `WANTED`.
        words: Whether the lift is used. It is not if items are parts of words, because spans are
            then phrases.

    Returns:
        The head, or None if no such head ever has a span as its top area.
    """
    share_wanted, lift_wanted = wanted
    lifts = figures.get("long_exact_lift")
    found: list[tuple[float, SpanHead]] = []
    for layer, row in enumerate(figures["multi_share"]):
        for head, share in enumerate(row):
            lift = lifts[layer][head] if lifts else None
            depends = figures["dependence"][layer][head] > floor
            if not (share and depends) or (words and lift is None):
                continue
            lift = float(lift or 0.0)
            reached = share / share_wanted
            if words:
                reached = min(reached, lift / lift_wanted)
            found.append((reached, SpanHead(layer, head, share, lift)))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def find_largest(figures: Figures, measure: str) -> float:
    """Return the largest value of a metric at a site, or 0 if there is none."""
    values = [value for row in figures.get(measure, ()) for value in row if value is not None]
    return max(values, default=0.0)


def name_head(figures: Figures, site: str, layer: int, head: int) -> Sequence[HeadName]:
    """Return the names of a head, the most informative first.

    - sink: one item has more than half of the mean map.
    - previous item: the top item is the preceding one in at least half of the queries.
    - position: the top item is at the same distance in at least half of the queries.
    - alignment: the alignment error rate against manual links is below that of the diagonal.
    - word edge: the top area begins or ends a word at least twice as often as by chance.

    Args:
        figures: Figures of the site. Missing metrics give no names.
        site: Name of the site. Only self-attention has a previous item.
        layer: Layer of the head.
        head: Number of the head in the layer.
    """

    def of(measure: str) -> float | None:
        rows = figures.get(measure)
        value = rows[layer][head] if rows else None
        return None if value is None else float(value)

    names = []
    error, diagonal = of("aer"), figures.get("aer_diagonal")
    if error is not None and diagonal is not None and error < diagonal:
        names.append(HeadName("alignment", f"error {error:.0%}, the diagonal's {diagonal:.0%}"))
    sink = of("cell") if "cell" in figures else of("sink")
    if (sink or 0.0) > HALF:
        names.append(HeadName("sink", f"one item has {sink:.0%} of the mean map"))
    share, previous = of("offset_share") or 0.0, of("previous") or 0.0
    if previous >= HALF and site.endswith("self"):
        names.append(HeadName("previous item", f"{previous:.0%} of queries"))
    elif share >= HALF:
        names.append(
            HeadName("position", f"{_describe_offset(of('offset'))} in {share:.0%} of queries")
        )
    lift = of("edge_lift")
    if lift is not None and lift >= EDGES:
        names.append(HeadName("word edge", f"{lift:.1f} times chance"))
    return names


def _describe_offset(offset: float | None) -> str:
    """Describe a distance from query to item in words."""
    count = int(offset or 0)
    if not count:
        return "the same place"
    noun = "item" if abs(count) == 1 else "items"
    return f"{abs(count)} {noun} {'before' if count < 0 else 'after'}"

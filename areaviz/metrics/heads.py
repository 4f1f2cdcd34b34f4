"""What each attention head does over a set of examples: how far it depends on its query, and how
often a span wins.

Query dependence is the mutual information between the query and the item it attends to, see
`areaviz.trace.query`; the diagonal has all there can be of it.

Shapes: L layers, H heads, Q queries, N items, A areas, O offsets between a query and its heaviest
item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from areaviz.metrics.judged import MEASURES, Array, JudgedAreas
from areaviz.metrics.words import word_runs
from areaviz.trace.query import item_shares, query_dependence
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray, Trace

MOST_OFFSET = 12
"""Offsets of heaviest items are counted up to this many items before and after the query."""
_EXACT = MEASURES.index("exact")


@dataclass(frozen=True, slots=True)
class HeadCounts:
    """Sums by name, each float64 [L, H] or [L, H, O]; counts of several examples of one model add
    up with `+`.
    """

    sums: Mapping[str, Array]

    def __add__(self, other: HeadCounts) -> HeadCounts:
        return HeadCounts({name: self.sums[name] + other.sums[name] for name in self.sums})

    def figures(self) -> dict[str, Array]:
        """The figures of every head, each float64 [L, H].

        dependence: I in bits, the mean over examples. dependence_share: its part of H(mean map).
        sink: the greatest share of attention one item gets over all queries of an example, the mean
        over examples. previous: share of queries whose heaviest item is the one before; offset and
        offset_share: the most frequent distance from query to heaviest item, and its share.
        multi_share: share of queries whose heaviest area has two or more items.
        long_exact: of these areas, the share that is exactly a word, beside long_exact_random for
        areas of the same sizes anywhere in the same text, and long_exact_lift; long_edge,
        long_edge_random and long_edge_lift: that begins or ends a word. NaN where there is nothing
        to divide by.
        """
        sums, queries = self.sums, self.sums["queries"]
        best_LH = sums["offsets"].argmax(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {
                "dependence": sums["dependence"] / sums["examples"],
                "dependence_share": sums["dependence"] / sums["mean_entropy"],
                "sink": sums["sink"] / sums["examples"],
                "previous": sums["previous"] / queries,
                "offset": best_LH - float(MOST_OFFSET),
                "offset_share": sums["offsets"].max(-1) / queries,
                "multi_share": sums["long"] / queries,
            }
            for name in ("exact", "edge"):
                own, chance = (
                    sums[f"long_{name}{kind}"] / sums["long"] for kind in ("", "_random")
                )
                found |= {
                    f"long_{name}": own,
                    f"long_{name}_random": chance,
                    f"long_{name}_lift": own / chance,
                }
        return found


def count_heads(traces: Iterable[Trace]) -> dict[str, HeadCounts]:
    """The counts of every site, summed over traces of one model, which are read once."""
    totals: dict[str, HeadCounts] = {}
    for trace in traces:
        for site, attention in trace.maps.items():
            counts = head_counts(attention, trace.fields[attention.memory])
            totals[site] = totals[site] + counts if site in totals else counts
    return totals


def head_counts(attention: AttentionMap, memory: Field) -> HeadCounts:
    """The counts of one map; of words only where the memory is a text."""
    layers = [_layer_counts(attention, layer, memory) for layer in range(attention.layers)]
    return HeadCounts({name: np.stack([sums[name] for sums in layers]) for name in layers[0]})


def _layer_counts(attention: AttentionMap, layer: int, memory: Field) -> dict[str, Array]:
    """All sums of one layer, each [H] or [H, O]."""
    rows = []
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        rows.append(_item_sums(shares_QN, newest_is_previous=attention.memory == "history"))
    sums = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}
    return sums | _long_sums(attention, layer, memory)


def _item_sums(shares_QN: FloatArray, newest_is_previous: bool) -> dict[str, float | Array]:
    """Sums of one head over items. Item q of what was written so far stands for the item before
    query q.
    """
    seen_Q = shares_QN.any(-1)
    query_Q = np.flatnonzero(seen_Q)
    offset_Q = shares_QN[seen_Q].argmax(-1) - query_Q
    near_Q = offset_Q[np.abs(offset_Q) <= MOST_OFFSET]
    dependence, mean_bits = query_dependence(shares_QN)
    return {
        "examples": 1.0,
        "queries": float(len(query_Q)),
        "dependence": dependence,
        "mean_entropy": mean_bits,
        "sink": float(shares_QN[seen_Q].mean(0).max()) if len(query_Q) else 0.0,
        "previous": float((offset_Q == (0 if newest_is_previous else -1)).sum()),
        "offsets": np.bincount(near_Q + MOST_OFFSET, minlength=2 * MOST_OFFSET + 1).astype(
            np.float64
        ),
    }


def _long_sums(attention: AttentionMap, layer: int, memory: Field) -> dict[str, Array]:
    """Sums over the queries whose heaviest area has two or more items, each [H]."""
    weights_HQA = attention.weights[layer]
    sizes_A = attention.grid.sizes()
    top_HQ = weights_HQA.argmax(-1)
    long_HQ = (sizes_A[top_HQ] > 1) & weights_HQA.any(-1)
    sums = {"long": long_HQ.sum(-1).astype(np.float64)}
    if memory.kind != "text":
        none = np.zeros(attention.heads)
        return sums | {
            f"long_{name}{kind}": none for name in ("exact", "edge") for kind in ("", "_random")
        }
    judged = JudgedAreas.of(attention.grid, memory)
    visible_Q = np.full(weights_HQA.shape[1], len(memory))
    if attention.memory == "history":
        visible_Q = np.minimum(np.arange(len(visible_Q)) + 1, len(memory))
    exact_A, edge_A = judged.hits_AM[:, _EXACT], _edges(judged, memory)
    width_HQ = judged.width_A[top_HQ]
    for name, hits_A in (("exact", exact_A), ("edge", edge_A)):
        sums[f"long_{name}"] = (hits_A[top_HQ] * long_HQ).sum(-1)
        chance_HQ = _chance(judged, hits_A, width_HQ, visible_Q)
        sums[f"long_{name}_random"] = (chance_HQ * long_HQ).sum(-1)
    return sums


def _edges(judged: JudgedAreas, memory: Field) -> Array:
    """Whether each area begins where a word begins or ends where one ends: float64 [A]."""
    runs = word_runs(memory)
    starts_N, ends_N = np.zeros(len(memory)), np.zeros(len(memory))
    for start, end in runs:
        starts_N[start], ends_N[end - 1] = 1, 1
    edges: Array = np.maximum(starts_N[judged.left_A], ends_N[judged.left_A + judged.width_A - 1])
    return edges


def _chance(judged: JudgedAreas, hits_A: Array, width_HQ: IntArray, visible_Q: IntArray) -> Array:
    """Expected hits of areas of these widths put anywhere among the visible items: [H, Q]."""
    before_A = np.concatenate([[0.0], hits_A.cumsum()])
    first_HQ = judged.first_W[width_HQ - 1]
    places_HQ = np.maximum(visible_Q - width_HQ + 1, 1)
    chance: Array = (before_A[first_HQ + places_HQ] - before_A[first_HQ]) / places_HQ
    return chance

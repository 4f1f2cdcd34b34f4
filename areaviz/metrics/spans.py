"""Metrics of whether the attended areas of a text match its words, compared with chance.

`areaviz.metrics.word_areas` defines the three metrics. With mean keys (Eq. 3), the logit of an area
is the mean of its items' logits and never exceeds the highest of them. The top area of a query is
therefore a single item and says nothing about spans. Two figures measure spans instead:
`weighted_MEASURE_lift` over all areas by their weight, and `multi_MEASURE_lift` over the top area
of two or more items. This area usually has two or three items, because the mean of a longer span is
between the means of two such parts. Both figures are divided by the value for areas of the same
sizes at random positions of the sentence.

Shapes: L layers, H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M
metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from areaviz.metrics.word_areas import (
    MEASURES,
    Array,
    Counts,
    WordAreas,
    add_by_site,
    count_visible_items,
)
from areaviz.trace.areas import FloatArray, IntArray
from areaviz.trace.query import entropy
from areaviz.trace.record import AttentionMap, Field, Trace

_COUNTS = ("queries", "multi_queries", "multi_tops", "choices")

BoolArray = npt.NDArray[np.bool_]


class SpanCounts(Counts):
    """Sums over queries, by name, each float64 [L, H]."""

    def figures(self) -> dict[str, float]:
        """Return the figures of all layers and heads together. Undefined figures are left out.

        - queries: number of queries.
        - multi_share: share of queries whose top area has several items.
        - MEASURE: share of the top areas that have the property, 0..1.
        - MEASURE_random: expected value for areas of the same sizes at random positions of the
          sentence.
        - MEASURE_position: expected value for areas of the same sizes at the same distances from
          another query of the sentence, as for a head that looks at positions and not at the text.
        - MEASURE_lift and MEASURE_position_lift: MEASURE divided by MEASURE_random and by
          MEASURE_position.
        - multi_...: the same figures for the top area of two or more items, over the queries that
          have one with a weight above 0.
        - weighted_MEASURE: share of the attention on areas with the property, with _random and
          _lift.
        - uniform_MEASURE: share for uniform attention.
        - area_size: mean number of items in an attended area, weighted by attention, and
          uniform_area_size.
        - entropy: entropy of the area weights in bits.
        - entropy_normalised: entropy divided by log2 of the number of areas, 0..1, if there are
          several.
        """
        figures = _compute_figures(
            {name: np.asarray(sum_LH.sum()) for name, sum_LH in self.sums.items()}
        )
        return {name: float(value) for name, value in figures.items() if np.isfinite(value)}


def measure_spans(traces: Iterable[Trace]) -> dict[str, dict[str, float]]:
    """Return the figures of every site whose memory is a text, over many traces of one model."""

    def counts() -> Iterator[tuple[str, SpanCounts]]:
        for trace in traces:
            for site, attention in trace.maps.items():
                memory = trace.fields[attention.memory]
                if memory.is_text:
                    yield site, count_spans(attention, memory)

    return {site: total.figures() for site, total in add_by_site(counts()).items()}


def count_spans(attention: AttentionMap, memory: Field) -> SpanCounts:
    """Return the counts of one map over a text. Queries that attend to nothing are left out.

    Chance uses only the areas that a query can see. A layer is assumed to have areas up to the
    widest that receives any attention in it.
    """
    areas = WordAreas.of(attention.grid, memory)
    visible_Q = count_visible_items(attention, memory)
    return SpanCounts.of_layers(
        [_sum_layer(attention, layer, areas, visible_Q) for layer in range(attention.layers)]
    )


def compute_weighted_purity(attention: AttentionMap, memory: Field) -> tuple[float, float]:
    """Return the figures weighted_purity and weighted_purity_random of one map, 0..1.

    Both are NaN if no query attends to anything. An analysis needs only these figures, and needs
    them for every example. `count_spans` would take many times longer.
    """
    areas, visible_Q = WordAreas.of(attention.grid, memory), count_visible_items(attention, memory)
    place = MEASURES.index("purity")
    pure_A = areas.hits_AM[:, place].astype(np.float32)
    width_W = np.arange(1, len(areas.first_W) + 1)
    chance_QW = areas.chance(width_W, visible_Q[:, None])[..., place]
    total, random, queries = 0.0, 0.0, 0
    for layer in range(attention.layers):
        weights_HQA = attention.weights[layer]
        total += float((weights_HQA @ pure_A).sum(dtype=np.float64))
        mass_HQW = np.add.reduceat(weights_HQA, areas.first_W, axis=-1)
        random += float((mass_HQW * chance_QW).sum(dtype=np.float64))
        queries += int(weights_HQA.any(-1).sum())
    if not queries:
        return float("nan"), float("nan")
    return total / queries, random / queries


def _sum_layer(
    attention: AttentionMap, layer: int, areas: WordAreas, visible_Q: IntArray
) -> dict[str, Array]:
    """Return all sums of one layer, each [H]."""
    weights_HQA = attention.weights[layer]
    seen_HQ = weights_HQA.any(-1)
    bits_HQ = np.stack([entropy(attention, layer, head) for head in range(attention.heads)])
    top_HQ = weights_HQA.argmax(-1)
    multi_HQA = np.where(areas.width_A > 1, weights_HQA, 0)
    multi_seen_HQ: BoolArray = np.any(multi_HQA, -1)
    return {
        "queries": _sum_over_queries(seen_HQ),
        "multi_queries": _sum_over_queries(multi_seen_HQ),
        "multi_tops": _sum_over_queries(areas.width_A[top_HQ] > 1),
        **_sum_top_areas("", top_HQ, seen_HQ, areas, visible_Q),
        **_sum_top_areas("multi_", multi_HQA.argmax(-1), multi_seen_HQ, areas, visible_Q),
        **_sum_weighted_areas(weights_HQA, seen_HQ, bits_HQ, areas, visible_Q),
    }


def _sum_over_queries(values_HQ: FloatArray | BoolArray) -> Array:
    """Return the sum over queries: float64 [H]."""
    total: Array = values_HQ.sum(-1, dtype=np.float64)
    return total


def _split_by_measure(name: str, sums_HM: Array) -> dict[str, Array]:
    """Return sums of the three metrics by name. "{}" in `name` is replaced by the metric."""
    return {name.format(measure): sums_HM[:, m] for m, measure in enumerate(MEASURES)}


def _sum_top_areas(
    prefix: str, top_HQ: IntArray, seen_HQ: BoolArray, areas: WordAreas, visible_Q: IntArray
) -> dict[str, Array]:
    """Return sums over one area of every visible query. Names start with `prefix`."""
    width_HQ = areas.width_A[top_HQ]
    found = {
        "": areas.hits_AM[top_HQ],
        "_random": areas.chance(width_HQ, visible_Q),
        "_position": areas.moved(areas.left_A[top_HQ], width_HQ, visible_Q),
    }
    sums: dict[str, Array] = {}
    for suffix, values_HQM in found.items():
        sums_HM = np.einsum("hqm,hq->hm", values_HQM, seen_HQ)
        sums |= _split_by_measure(prefix + "{}" + suffix, sums_HM)
    return sums


def _sum_weighted_areas(
    weights_HQA: FloatArray,
    seen_HQ: BoolArray,
    bits_HQ: FloatArray,
    areas: WordAreas,
    visible_Q: IntArray,
) -> dict[str, Array]:
    """Return sums over all areas of every query by attention, and those of uniform attention."""
    mass_HQW = np.add.reduceat(weights_HQA, areas.first_W, axis=-1)
    width_W = np.arange(1, len(areas.first_W) + 1)
    widest = int(np.max(width_W * mass_HQW.any((0, 1)), initial=1))
    chance_QWM = areas.chance(width_W, visible_Q[:, None])
    places_QW = np.maximum(visible_Q[:, None] - width_W + 1, 0) * (width_W <= widest)
    areas_Q = places_QW.sum(-1)
    uniform_QW = places_QW / areas_Q[:, None]
    hits_HQM = weights_HQA @ areas.hits_AM.astype(np.float32)
    random_HM = np.einsum("hqw,qwm->hm", mass_HQW, chance_QWM)
    uniform_HM = seen_HQ @ np.einsum("qw,qwm->qm", uniform_QW, chance_QWM)
    choice_HQ = seen_HQ & (areas_Q > 1)
    share_HQ = bits_HQ / np.log2(np.maximum(areas_Q, 2)) * choice_HQ
    return {
        **_split_by_measure("weighted_{}", hits_HQM.sum(1, dtype=np.float64)),
        **_split_by_measure("weighted_{}_random", random_HM),
        **_split_by_measure("uniform_{}", uniform_HM),
        "area_size": mass_HQW.sum(1, dtype=np.float64) @ width_W,
        "uniform_area_size": seen_HQ @ (uniform_QW @ width_W),
        "entropy": _sum_over_queries(bits_HQ),
        "entropy_normalised": _sum_over_queries(share_HQ),
        "choices": _sum_over_queries(choice_HQ),
    }


def _compute_figures(sums: Mapping[str, Array]) -> dict[str, Array]:
    """Divide sums by their number of cases, and compute the lifts."""
    figures = {"queries": sums["queries"]}
    lifts = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = {name: total / sums[_name_count(name)] for name, total in sums.items()}
        figures["multi_share"] = shares["multi_tops"]
        for name, share in shares.items():
            if name not in _COUNTS:
                figures[name] = share
            for kind, chance in (("", "_random"), ("_position", "_position")):
                if name + chance in shares:
                    lifts[f"{name}{kind}_lift"] = share / shares[name + chance]
    return figures | lifts


def _name_count(name: str) -> str:
    """Return the name of the count by which a sum is divided."""
    if name == "entropy_normalised":
        return "choices"
    return "multi_queries" if name.startswith("multi_") and name not in _COUNTS else "queries"

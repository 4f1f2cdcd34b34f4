"""Do the attended areas of a text follow its words? Purity, cover and exactness (`metrics.judged`)
beside chance.

Which areas are asked. With mean keys (Eq. 3) the logit of an area is the mean of its items' logits
and never above the highest of them, so the heaviest area of a query is a single item, which says
nothing of spans.
Two figures do: `weighted_MEASURE_lift`, over all areas by their weight, and `multi_MEASURE_lift`,
over the heaviest area of two or more items (of two or three, in truth: the mean of a longer span
lies between the means of two such parts). Both are divided by what the same areas would have at
random places of the same sentence.

Shapes: L layers, H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M
measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.metrics.judged import MEASURES, Array, JudgedAreas
from areaviz.trace.query import entropy
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray, Trace

_COUNTS = ("queries", "multi_queries", "multi_tops", "choices")


@dataclass(frozen=True, slots=True, eq=False)
class SpanCounts:
    """Sums over queries, by name, each float64 [L, H]; counts of several traces of one model add up
    with `+`.

    Adding raises ValueError when the counts are of models with different layers or heads.
    """

    sums: Mapping[str, Array]

    def __add__(self, other: SpanCounts) -> SpanCounts:
        shapes = self.sums["queries"].shape, other.sums["queries"].shape
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"Only counts of one model add up, got {shapes[0]} and {shapes[1]} layers and"
                " heads."
            )
        return SpanCounts({name: self.sums[name] + other.sums[name] for name in self.sums})

    def figures(self) -> dict[str, float]:
        """The figures of all layers and heads together; those without any case are left out.

        queries: how many, and multi_share: for what share of them the top area has two or more
        items.
        MEASURE: share of the top areas that have it (0..1); MEASURE_random: expected for areas of
        the same sizes anywhere in the same sentence, each place equally likely; MEASURE_position:
        expected for the same sizes at the same distances from another query of the sentence, all
        queries equally likely, what a head would have that looks at positions and not at text;
        MEASURE_lift and MEASURE_position_lift: the first divided by either. The same with "multi_"
        in front for the heaviest area of two or more items, over the queries that have one with any
        weight.
        weighted_MEASURE: share of the attention on areas that have it, with its _random and _lift;
        uniform_MEASURE: of attention that is equal everywhere. area_size: mean items of an attended
        area, weighted by attention, and uniform_area_size. entropy: of the area weights in bits,
        and
        entropy_normalised: divided by log2 of the number of areas, 0..1, where there are two or
        more.
        """
        pooled = _figures({name: np.asarray(sums_LH.sum()) for name, sums_LH in self.sums.items()})
        return {name: float(value) for name, value in pooled.items() if np.isfinite(value)}


def span_figures(traces: Iterable[Trace]) -> dict[str, dict[str, float]]:
    """The figures of every site whose memory is a text, over many traces of one model: site -> name
    -> figure.
    """
    return {site: counts.figures() for site, counts in count_all(traces).items()}


def count_all(traces: Iterable[Trace]) -> dict[str, SpanCounts]:
    """The counts of every site whose memory is a text, summed over traces, which are read once."""
    totals: dict[str, SpanCounts] = {}
    for trace in traces:
        for site, attention in trace.maps.items():
            memory = trace.fields[attention.memory]
            if memory.kind == "text":
                counts = span_counts(attention, memory)
                totals[site] = totals[site] + counts if site in totals else counts
    return totals


def span_counts(attention: AttentionMap, memory: Field) -> SpanCounts:
    """The counts of one map over its memory, a text; queries that attend to nothing are left out.

    Where the memory is what the decoder had been fed ("history"), query q can see its items 0..q,
    and chance is only given the areas it can see. A layer is taken to have areas up to the widest
    that receives any attention in it.
    """
    judged = JudgedAreas.of(attention.grid, memory)
    queries = attention.weights.shape[2]
    visible_Q = np.full(queries, len(memory))
    if attention.memory == "history":
        visible_Q = np.minimum(np.arange(queries) + 1, len(memory))
    layers = [_layer_sums(attention, layer, judged, visible_Q) for layer in range(attention.layers)]
    return SpanCounts({name: np.stack([sums[name] for sums in layers]) for name in layers[0]})


def _layer_sums(
    attention: AttentionMap, layer: int, judged: JudgedAreas, visible_Q: IntArray
) -> dict[str, Array]:
    """All sums of one layer, each [H]."""
    weights_HQA = attention.weights[layer]
    seen_HQ = weights_HQA.any(-1)
    bits_HQ = np.stack([entropy(attention, layer, head) for head in range(attention.heads)])
    top_HQ = weights_HQA.argmax(-1)
    multi_HQA = np.where(judged.width_A > 1, weights_HQA, 0)
    multi_seen_HQ: npt.NDArray[np.bool_] = np.any(multi_HQA, -1)
    return {
        "queries": seen_HQ.sum(-1, dtype=np.float64),
        "multi_queries": multi_seen_HQ.sum(-1, dtype=np.float64),
        "multi_tops": (judged.width_A[top_HQ] > 1).sum(-1, dtype=np.float64),
        **_top_sums("", top_HQ, seen_HQ, judged, visible_Q),
        **_top_sums("multi_", multi_HQA.argmax(-1), multi_seen_HQ, judged, visible_Q),
        **_weighted_sums(weights_HQA, seen_HQ, bits_HQ, judged, visible_Q),
    }


def _top_sums(
    prefix: str,
    top_HQ: IntArray,
    seen_HQ: npt.NDArray[np.bool_],
    judged: JudgedAreas,
    visible_Q: IntArray,
) -> dict[str, Array]:
    """Sums over one area of every query that is seen, named with `prefix`."""
    width_HQ = judged.width_A[top_HQ]
    found = {
        "": judged.hits_AM[top_HQ],
        "_random": judged.chance(width_HQ, visible_Q),
        "_position": judged.moved(judged.left_A[top_HQ], width_HQ, visible_Q),
    }
    sums: dict[str, Array] = {}
    for suffix, values_HQM in found.items():
        total_HM = np.einsum("hqm,hq->hm", values_HQM, seen_HQ)
        sums |= {f"{prefix}{name}{suffix}": total_HM[:, m] for m, name in enumerate(MEASURES)}
    return sums


def _weighted_sums(
    weights_HQA: FloatArray,
    seen_HQ: npt.NDArray[np.bool_],
    bits_HQ: FloatArray,
    judged: JudgedAreas,
    visible_Q: IntArray,
) -> dict[str, Array]:
    """Sums over all areas of every query, weighted by attention, beside those of
    uniform attention.
    """
    mass_HQW = np.add.reduceat(weights_HQA, judged.first_W, axis=-1)
    width_W = np.arange(1, len(judged.first_W) + 1)
    widest = int(np.max(width_W * mass_HQW.any((0, 1)), initial=1))
    chance_QWM = judged.chance(width_W, visible_Q[:, None])
    places_QW = np.maximum(visible_Q[:, None] - width_W + 1, 0) * (width_W <= widest)
    areas_Q = places_QW.sum(-1)
    uniform_QW = places_QW / areas_Q[:, None]
    choice_HQ = seen_HQ & (areas_Q > 1)
    found = {
        "weighted_{}": (weights_HQA @ judged.hits_AM.astype(np.float32)).sum(1, dtype=np.float64),
        "weighted_{}_random": np.einsum("hqw,qwm->hm", mass_HQW, chance_QWM),
        "uniform_{}": seen_HQ @ np.einsum("qw,qwm->qm", uniform_QW, chance_QWM),
    }
    sums = {
        name.format(MEASURES[m]): sums_HM[:, m]
        for name, sums_HM in found.items()
        for m in range(len(MEASURES))
    }
    return sums | {
        "area_size": mass_HQW.sum(1, dtype=np.float64) @ width_W,
        "uniform_area_size": seen_HQ @ (uniform_QW @ width_W),
        "entropy": bits_HQ.sum(-1, dtype=np.float64),
        "entropy_normalised": (
            (bits_HQ / np.log2(np.maximum(areas_Q, 2)) * choice_HQ).sum(-1, dtype=np.float64)
        ),
        "choices": choice_HQ.sum(-1, dtype=np.float64),
    }


def _figures(sums: Mapping[str, Array]) -> dict[str, Array]:
    """Sums divided by their number of cases, and the lifts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = {name: total / sums[_cases(name)] for name, total in sums.items()}
        lifts = {
            f"{name}{kind}_lift": shares[name] / shares[f"{name}{chance}"]
            for name in shares
            for kind, chance in (("", "_random"), ("_position", "_position"))
            if f"{name}{chance}" in shares
        }
    counts = {"queries": sums["queries"], "multi_share": shares["multi_tops"]}
    return counts | {name: share for name, share in shares.items() if name not in _COUNTS} | lifts


def _cases(name: str) -> str:
    """The count that a sum is divided by."""
    if name == "entropy_normalised":
        return "choices"
    return "multi_queries" if name.startswith("multi_") and name not in _COUNTS else "queries"

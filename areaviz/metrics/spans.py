"""Do the attended areas of a text follow its words? Purity, cover and exactness, beside what chance would give.

Words are runs of items between blanks (`trace.query.words`). A blank belongs to no word, nor does a symbol
that stands for no text, so an area that holds one is in no case pure or exact. Of an area, 0 or 1:

purity: all its items belong to one word. cover: it holds all items of at least one word. exact: its items
are those of one word, no more and no less.

Which areas are asked. With mean keys (Eq. 3) the logit of an area is the mean of its items' logits and never
above the highest of them, so the heaviest area of a query is a single item, which says nothing of spans.
Two figures do: `weighted_MEASURE_lift`, over all areas by their weight, and `multi_MEASURE_lift`, over the
heaviest area of two or more items (of two or three, in truth: the mean of a longer span lies between the
means of two such parts). Both are divided by what the same areas would have at random places of the same
sentence.

Shapes: L layers, H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.metrics.words import word_runs
from areaviz.trace.areas import AreaGrid
from areaviz.trace.query import entropy
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray, Trace

MEASURES = ("purity", "cover", "exact")
_COUNTS = ("queries", "multi_queries", "multi_tops", "choices")
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SpanCounts:
    """Sums over queries, by name, each float64 [L, H]; counts of several traces of one model add up with `+`.

    Adding raises ValueError when the counts are of models with different layers or heads.
    """

    sums: Mapping[str, Array]

    def __add__(self, other: SpanCounts) -> SpanCounts:
        shapes = self.sums["queries"].shape, other.sums["queries"].shape
        if shapes[0] != shapes[1]:
            raise ValueError(f"Only counts of one model add up, got {shapes[0]} and {shapes[1]} layers and heads.")
        return SpanCounts({name: self.sums[name] + other.sums[name] for name in self.sums})

    def figures(self) -> dict[str, float]:
        """The figures of all layers and heads together; those without any case are left out.

        queries: how many, and multi_share: for what share of them the top area has two or more items.
        MEASURE: share of the top areas that have it (0..1); MEASURE_random: expected for areas of the same
        sizes anywhere in the same sentence, each place equally likely; MEASURE_position: expected for the
        same sizes at the same distances from another query of the sentence, all queries equally likely, what a
        head would have that looks at positions and not at text; MEASURE_lift and MEASURE_position_lift:
        the first divided by either. The same with "multi_" in front for the heaviest area of two or more items,
        over the queries that have one with any weight.
        weighted_MEASURE: share of the attention on areas that have it, with its _random and _lift;
        uniform_MEASURE: of attention that is equal everywhere. area_size: mean items of an attended area,
        weighted by attention, and uniform_area_size. entropy: of the area weights in bits, and
        entropy_normalised: divided by log2 of the number of areas, 0..1, where there are two or more.
        """
        pooled = _figures({name: np.asarray(sums_LH.sum()) for name, sums_LH in self.sums.items()})
        return {name: float(value) for name, value in pooled.items() if np.isfinite(value)}

    def head_figures(self) -> dict[str, Array]:
        """The same figures for every head, each float64 [L, H]; NaN where a head has no case."""
        return _figures(self.sums)


def span_figures(traces: Iterable[Trace]) -> dict[str, dict[str, float]]:
    """The figures of every site whose memory is a text, over many traces of one model: site -> name -> figure."""
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

    Where the memory is what the decoder had been fed ("history"), query q can see its items 0..q, and
    chance is only given the areas it can see. A layer is taken to have areas up to the widest that receives
    any attention in it.
    """
    judged = _Judged.of(attention.grid, memory)
    queries = attention.weights.shape[2]
    visible_Q = np.full(queries, len(memory))
    if attention.memory == "history":
        visible_Q = np.minimum(np.arange(queries) + 1, len(memory))
    layers = [_layer_sums(attention, layer, judged, visible_Q) for layer in range(attention.layers)]
    return SpanCounts({name: np.stack([sums[name] for sums in layers]) for name in layers[0]})


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Every area of a text judged: hits float64 [A, M], and their mean over an area's place and those before it.

    first: index of the first area of each width, int64 [W]. left, width: of every area, int64 [A].
    """

    first_W: IntArray
    left_A: IntArray
    width_A: IntArray
    hits_AM: Array
    running_AM: Array

    @classmethod
    def of(cls, grid: AreaGrid, memory: Field) -> _Judged:
        _, left_A, _, width_A = grid.table().T
        first_W = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
        hits_AM = _hits(left_A, width_A, memory)
        slabs = np.split(hits_AM, first_W[1:])
        running_AM = np.concatenate([slab.cumsum(0) / np.arange(1, len(slab) + 1)[:, None] for slab in slabs])
        return cls(first_W, left_A, width_A, hits_AM, running_AM)

    def chance(self, width: IntArray, visible: IntArray) -> Array:
        """Expected hits of an area of `width` items put anywhere among the first `visible`: [..., M]."""
        expected: Array = self.running_AM[self.first_W[width - 1] + np.maximum(visible - width, 0)]
        return expected


def _hits(left_A: IntArray, width_A: IntArray, memory: Field) -> Array:
    """Whether each area has each measure, 0 or 1: [A, M]."""
    runs = np.array(word_runs(memory), dtype=np.int64).reshape(-1, 2)
    beyond = np.iinfo(np.int64).max
    word_N = np.full(len(memory), -1)
    for word, (start, end) in enumerate(runs):
        word_N[start:end] = word
    right_A = left_A + width_A
    pure_A = (word_N[left_A] >= 0) & (word_N[left_A] == word_N[right_A - 1])
    # The first word that starts at or after the left edge is the one that fits soonest.
    ends = np.append(runs[:, 1], beyond)[np.searchsorted(runs[:, 0], left_A)]
    cover_A = ends <= right_A
    return np.stack([pure_A, cover_A, pure_A & cover_A], 1).astype(np.float64)


def _layer_sums(attention: AttentionMap, layer: int, judged: _Judged, visible_Q: IntArray) -> dict[str, Array]:
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
    prefix: str, top_HQ: IntArray, seen_HQ: npt.NDArray[np.bool_], judged: _Judged, visible_Q: IntArray
) -> dict[str, Array]:
    """Sums over one area of every query that is seen, named with `prefix`."""
    width_HQ = judged.width_A[top_HQ]
    found = {
        "": judged.hits_AM[top_HQ],
        "_random": judged.chance(width_HQ, visible_Q),
        "_position": _moved(judged.left_A[top_HQ], width_HQ, judged, visible_Q),
    }
    sums: dict[str, Array] = {}
    for suffix, values_HQM in found.items():
        total_HM = np.einsum("hqm,hq->hm", values_HQM, seen_HQ)
        sums |= {f"{prefix}{name}{suffix}": total_HM[:, m] for m, name in enumerate(MEASURES)}
    return sums


def _moved(left_HQ: IntArray, width_HQ: IntArray, judged: _Judged, visible_Q: IntArray) -> Array:
    """Mean hits of each area when put at the same distance from every query of the sentence in turn: [H, Q, M].

    Distance counts from the query's own place or, in another text, from the place as far along. Queries from
    which the area would stick out of what they see are left out. P such moves differ.
    """
    items, queries, widths = int(judged.left_A.max()) + 1, len(visible_Q), len(judged.first_W)
    place_Q = (2 * np.arange(queries) + 1) * items // (2 * queries)
    moves_P, which = np.unique((left_HQ - place_Q) * widths + width_HQ - 1, return_inverse=True)
    left_PQ, width_P1 = (moves_P // widths)[:, None] + place_Q, (moves_P % widths)[:, None] + 1
    fits_PQ = (left_PQ >= 0) & (left_PQ + width_P1 <= visible_Q)
    area_PQ = judged.first_W[width_P1 - 1] + left_PQ * fits_PQ
    hits_MP = np.stack([(hits_A[area_PQ] * fits_PQ).sum(-1) for hits_A in judged.hits_AM.T])
    mean_PM = (hits_MP / np.maximum(fits_PQ.sum(-1), 1)).T
    mean_HQM: Array = mean_PM[which.reshape(left_HQ.shape)]
    return mean_HQM


def _weighted_sums(
    weights_HQA: FloatArray, seen_HQ: npt.NDArray[np.bool_], bits_HQ: FloatArray, judged: _Judged, visible_Q: IntArray
) -> dict[str, Array]:
    """Sums over all areas of every query, weighted by attention, beside those of uniform attention."""
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
    sums = {name.format(MEASURES[m]): sums_HM[:, m] for name, sums_HM in found.items() for m in range(len(MEASURES))}
    return sums | {
        "area_size": mass_HQW.sum(1, dtype=np.float64) @ width_W,
        "uniform_area_size": seen_HQ @ (uniform_QW @ width_W),
        "entropy": bits_HQ.sum(-1, dtype=np.float64),
        "entropy_normalised": (bits_HQ / np.log2(np.maximum(areas_Q, 2)) * choice_HQ).sum(-1, dtype=np.float64),
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

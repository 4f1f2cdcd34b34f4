"""Spans: whether the attended areas of a text match its words, compared with chance.

`WordAreas` defines purity, cover and exactness. `measure_spans` measures a map with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.query import entropy, find_words, merge_items
from areaviz.trace.record import AttentionMap, Field, Trace

# The words of a text: the attention they receive, and the areas that match them.
#
# Words are runs of items between spaces (`trace.query.find_words`). Spaces and symbols without text
# belong to no word. Each of three metrics gives an area the value 0 or 1:
#
# - purity: all its items belong to one word.
# - cover: it contains all items of at least one word.
# - exact: its items are exactly those of one word.
#
# Shapes: H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M metrics, P
# moves.


MEASURES = ("purity", "cover", "exact")
Array = npt.NDArray[np.float64]


def find_word_runs(field: Field) -> list[tuple[int, int]]:
    """Return the items of every word as (start, end), in order."""
    return [run for run in find_words(field) if _is_word(field, run)]


def compute_word_attention(shares_QN: FloatArray, query: Field, memory: Field) -> FloatArray:
    """Return attention between words: float32 [words of `query`, words of `memory`].

    It is summed over the memory items of a word and averaged over its query items. A row sums to at
    most 1, because the shares of spaces and symbols are left out.

    Args:
        shares_QN: Item shares, float32 [Q, N], see `item_shares`.
        query: The field that attends.
        memory: The field that is attended to.
    """
    runs = [find_words(query), find_words(memory)]
    chosen = []
    for field, of_field in zip((query, memory), runs, strict=True):
        chosen.append([number for number, run in enumerate(of_field) if _is_word(field, run)])
    return merge_items(shares_QN, *runs)[np.ix_(*chosen)]


def count_visible_items(attention: AttentionMap, memory: Field) -> IntArray:
    """Return the number of items that each query can see, int64 [Q].

    Query q sees items 0..q of a history, and all items of any other memory.
    """
    visible_Q = np.full(attention.weights.shape[2], len(memory))
    if attention.memory == "history":
        visible_Q = np.minimum(np.arange(len(visible_Q)) + 1, len(memory))
    return visible_Q


def _is_word(field: Field, run: tuple[int, int]) -> bool:
    """Return whether a run of items contains any text except spaces."""
    start, end = field.anchors[run[0], 0], field.anchors[run[1] - 1, 1]
    return bool(field.raw[start:end].strip())


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Sums over queries. The sums of several traces of one model are added with `+`.

    Adding sums of models with different layers or heads raises ValueError.
    """

    # By name, each float64 [L, H] or [L, H, ...].
    sums: Mapping[str, Array]

    @classmethod
    def of_layers(cls, layers: list[dict[str, Array]]) -> Self:
        """Create counts from the sums of every layer, each [H] or [H, ...]."""
        return cls({name: np.stack([sums[name] for sums in layers]) for name in layers[0]})

    def __add__(self, other: Self) -> Self:
        own, others = self.sums["queries"].shape, other.sums["queries"].shape
        if own != others:
            raise ValueError(
                f"Only counts of one model add up, got {own} and {others} layers and heads."
            )
        return type(self)({name: self.sums[name] + other.sums[name] for name in self.sums})


AnyCounts = TypeVar("AnyCounts", bound=Counts)


def add_by_site(counts: Iterable[tuple[str, AnyCounts]]) -> dict[str, AnyCounts]:
    """Add up the counts of every site, in the order in which sites first occur."""
    totals: dict[str, AnyCounts] = {}
    for site, one in counts:
        totals[site] = totals[site] + one if site in totals else one
    return totals


@dataclass(frozen=True, slots=True, eq=False)
class WordAreas:
    """Every area of a text with its three metrics."""

    # Index of the first area of each width, int64 [W].
    first_W: IntArray
    # Left edge and width of every area, int64 [A].
    left_A: IntArray
    width_A: IntArray
    # Value of each metric for each area, 0 or 1: [A, M].
    hits_AM: Array
    # Mean over the area and all earlier areas of its width: [A, M].
    running_AM: Array

    @classmethod
    def of(cls, grid: AreaGrid, memory: Field) -> Self:
        """Create the table for the areas of one text."""
        _, left_A, _, width_A = grid.table().T
        first_W = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
        hits_AM = _find_hits(left_A, width_A, memory)
        means = []
        for slab in np.split(hits_AM, first_W[1:]):
            means.append(slab.cumsum(0) / np.arange(1, len(slab) + 1)[:, None])
        return cls(first_W, left_A, width_A, hits_AM, np.concatenate(means))

    def chance(self, width: IntArray, visible: IntArray) -> Array:
        """Return expected hits of areas at random places in the first `visible` items: [..., M]."""
        last = self.first_W[width - 1] + np.maximum(visible - width, 0)
        expected: Array = self.running_AM[last]
        return expected

    def moved(self, left_HQ: IntArray, width_HQ: IntArray, visible_Q: IntArray) -> Array:
        """Return mean hits of each area moved to the same distance from every query: [H, Q, M].

        The distance is measured from the query's own position. If query and memory are different
        texts, it is measured from the equal relative position in the memory. Queries from which the
        area would exceed their visible items are left out. P is the number of distinct moves.
        """
        items, queries, widths = int(self.left_A.max()) + 1, len(visible_Q), len(self.first_W)
        place_Q = (2 * np.arange(queries) + 1) * items // (2 * queries)
        moves_P, which = np.unique((left_HQ - place_Q) * widths + width_HQ - 1, return_inverse=True)
        left_PQ = (moves_P // widths)[:, None] + place_Q
        width_P1 = (moves_P % widths)[:, None] + 1
        fits_PQ = (left_PQ >= 0) & (left_PQ + width_P1 <= visible_Q)
        area_PQ = self.first_W[width_P1 - 1] + left_PQ * fits_PQ
        # Process one metric at a time, so that no [P, Q, M] array is created.
        hits_MP = np.stack([(hits_A[area_PQ] * fits_PQ).sum(-1) for hits_A in self.hits_AM.T])
        mean_PM = (hits_MP / np.maximum(fits_PQ.sum(-1), 1)).T
        mean_HQM: Array = mean_PM[which.reshape(left_HQ.shape)]
        return mean_HQM


def _find_hits(left_A: IntArray, width_A: IntArray, memory: Field) -> Array:
    """Return the value of each metric for each area, 0 or 1: [A, M]."""
    runs = np.array(find_word_runs(memory), dtype=np.int64).reshape(-1, 2)
    word_N = np.full(len(memory), -1)
    for word, (start, end) in enumerate(runs):
        word_N[start:end] = word
    right_A = left_A + width_A
    pure_A = (word_N[left_A] >= 0) & (word_N[left_A] == word_N[right_A - 1])
    # The first word that starts at or after the left edge is the first one that the area can
    # contain.
    ends = np.append(runs[:, 1], np.iinfo(np.int64).max)[np.searchsorted(runs[:, 0], left_A)]
    cover_A = ends <= right_A
    return np.stack([pure_A, cover_A, pure_A & cover_A], 1).astype(np.float64)


# The measures of all heads of a map, compared with chance.
#
# `WordAreas` defines the three metrics. With mean keys (Eq. 3), the logit of an area is the mean of
# its items' logits and never exceeds the highest of them. The top area of a query is therefore a
# single item and says nothing about spans. Two figures measure spans instead:
# `weighted_MEASURE_lift` over all areas by their weight, and `multi_MEASURE_lift` over the top area
# of two or more items. This area usually has two or three items, because the mean of a longer span
# is between the means of two such parts. Both figures are divided by the value for areas of the
# same sizes at random positions of the sentence.
#
# Shapes: L layers, H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M
# metrics.


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

"""Queries on a trace: what it attends to, with what weight, and how a page displays it.

The first part answers questions about one map, such as `top_areas` and `coverage`. The second
part has the three displays of a map and finds attention sinks.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.trace import areas
from areaviz.trace.areas import (
    Area,
    AreaGrid,
    FloatArray,
    IntArray,
    find_smallest_areas,
    find_smallest_areas_of_masses,
    largest_entries,
    rank_areas,
)
from areaviz.trace.record import AttentionMap, Field, Trace, check_arguments
from areaviz.trace.request import Focus

# Queries on a trace: which areas does it attend to, and with what weight?
#
# Each function selects a map's layer and head, then calls the algebra of areas
# (`areaviz.trace.areas`), which works on arrays. Wherever a head may be None, the result is for the
# mean of the heads' weights.
#
# Shapes: L layers, H heads, Q queries, A areas, N items, R rows of weights.


# Runs of items as (start, end), end exclusive. Together the runs contain every item once, in order.
Groups = Sequence[tuple[int, int]]
# Fields with the items of one text. The history is the target, shifted by one position.
SAME_TEXT = ("target", "history")


@dataclass(frozen=True, slots=True)
class Attended:
    """An attended area and its weight, 0..1."""

    area: Area
    weight: float


@dataclass(frozen=True, slots=True)
class Attending:
    """A query (from 0) and the share of its attention on areas that contain a given item, 0..1."""

    query: int
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class HeadSummary:
    """Statistics of every head, each float32 [L, H], averaged over queries.

    Fully masked queries are left out. A head with only such queries gets 0.
    """

    # Entropy of the area weights, in bits.
    entropy: FloatArray
    # Mean number of items in an attended area.
    area_size: FloatArray
    # Mean distance between query and area centre in items. NaN if query and memory are different
    # texts.
    distance: FloatArray
    # Mean weight of the top area.
    peak: FloatArray


def is_one_text(trace: Trace) -> bool:
    """Return whether input and output form one text, as in a language model."""
    return "history" in trace.fields and trace.fields.keys() <= set(SAME_TEXT)


def format_given_output(trace: Trace) -> str:
    """Return the output in the form a request accepts.

    For a language model this is the text after the prompt.
    """
    if trace.request.target is not None:
        return trace.request.target
    if is_one_text(trace):
        return trace.fields["history"].raw.removeprefix(trace.request.text)
    return trace.fields[trace.output.field].raw


@check_arguments
def top_areas(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    query: int,
    k: int = 3,
    max_overlap: float = areas.MAX_OVERLAP,
    min_size: int = 1,
) -> list[Attended]:
    """Return the k top areas of a query, in descending order of weight.

    Areas with weight 0 are never returned. If weights are equal, the area with the lower index
    comes first.

    Args:
        attention: The map.
        layer: Layer, from 0.
        head: Head, from 0. None means the mean over heads.
        query: Query, from 0.
        k: Maximum number of areas.
        max_overlap: Leave out areas whose overlap (IoU) with a higher-ranked area exceeds this.
        min_size: Leave out areas with fewer items.
    """
    # A slice from -1 to 0 would be empty.
    first = None if head is None else head % attention.weights.shape[1]
    heads = slice(None) if first is None else slice(first, first + 1)
    mean_A = attention.weights[layer, heads, query].mean(0)
    return find_top_combined_areas(mean_A, attention.grid, k, max_overlap, min_size)


def find_top_combined_areas(
    weights_A: FloatArray,
    grid: AreaGrid,
    k: int = 3,
    max_overlap: float = areas.MAX_OVERLAP,
    min_size: int = 1,
) -> list[Attended]:
    """Return the k top areas of combined weights, such as the mean over several queries."""
    found = areas.rank_areas(weights_A, grid, k, max_overlap, min_size)
    return [Attended(grid.area(index), weight) for index, weight in _list_pairs(found)]


def find_smallest_area_size(attention: AttentionMap, focus: Focus) -> int:
    """Return the minimum number of items in a displayed area.

    This is two if the focus is on areas of several items and the map has such areas.
    """
    return 2 if focus.areas == "several" and attention.grid.count > attention.grid.items else 1


@check_arguments
def densest_areas(
    attention: AttentionMap, layer: int, head: int | None, mass: float = areas.MASS
) -> list[Attended | None]:
    """Return the densest area of every query, with its share, or None if everything is masked.

    The densest area is the smallest span or rectangle that holds at least `mass` of the item shares
    (`item_shares`).

    Raises:
        InputError: The mass is not above 0 and at most 1.
    """
    found = areas.find_smallest_areas(item_shares(attention, layer, head), attention.grid, mass)
    pairs = zip(found.area.tolist(), found.share.tolist(), strict=True)
    return [Attended(Area(*area), share) if share > 0 else None for area, share in pairs]


@check_arguments
def top_queries(
    attention: AttentionMap, layer: int, head: int | None, item: int, k: int = 3
) -> list[Attending]:
    """Return the k queries that attend most to areas that contain an item.

    Queries with weight 0 are left out.
    """
    found = areas.largest_entries(coverage(attention, layer, head)[:, item], k)
    return [Attending(query, weight) for query, weight in _list_pairs(found)]


@check_arguments
def coverage(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Return the attention of every item, summed over all areas that contain it: float32 [Q, N].

    A row sums to the mean size of an attended area, not to 1 (Li et al. 2019, Eq. 4).
    """
    return areas.sum_coverage(_get_weights(attention, layer, head), attention.grid)


@check_arguments
def item_shares(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Return coverage with each row divided by its sum: float32 [Q, N]. Masked rows are 0."""
    return areas.coverage_shares(coverage(attention, layer, head))


def compute_head_shares(attention: AttentionMap, layer: int) -> FloatArray:
    """Return the item shares of every head of a layer: float32 [H, Q, N]."""
    return areas.coverage_shares(areas.sum_coverage(attention.weights[layer], attention.grid))


@check_arguments
def entropy(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Return the entropy of every query's area weights in bits: float32 [Q]. Masked rows give 0."""
    # Single precision saves memory, because the weights of a head over many areas are a large
    # array.
    weights_QA = _get_weights(attention, layer, head)
    bits_QA = np.log2(weights_QA, out=np.zeros_like(weights_QA), where=weights_QA > 0)
    entropy_Q: FloatArray = np.maximum(-np.einsum("qa,qa->q", weights_QA, bits_QA), 0)
    return entropy_Q


def compute_entropy_bits(shares_RN: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the entropy of every row of shares in bits: float64 [R]. A share of 0 adds nothing."""
    shares = shares_RN.astype(np.float64)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: npt.NDArray[np.float64] = -np.einsum("...n,...n->...", shares, logs)
    return bits


def compute_jensen_shannon_divergence(first_RN: FloatArray, second_RN: FloatArray) -> FloatArray:
    """Return the Jensen-Shannon divergence of two sets of distributions in bits: float32 [R].

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 (Lin 1991). It is 0 for equal rows and 1 for rows
    with disjoint support.
    """
    mean = compute_entropy_bits(np.asarray(first_RN + second_RN) / 2)
    halves = (compute_entropy_bits(first_RN) + compute_entropy_bits(second_RN)) / 2
    found: FloatArray = np.clip(mean - halves, 0, 1).astype(np.float32)
    return found


def query_dependence(shares_QN: npt.NDArray[np.floating]) -> tuple[float, float]:
    """Return the mutual information of query and attended item, and its maximum, both in bits.

        I = H(mean map) - mean H(map)

    All queries that attend to anything are equally likely. The maximum is H(mean map). A head that
    attends to a different single item for each query reaches it. A head that attends to the same
    position for every query has 0. Both are 0 if nothing is attended to.
    """
    seen_QN = shares_QN[shares_QN.any(-1)].astype(np.float64)
    if not len(seen_QN):
        return 0.0, 0.0
    most = float(compute_entropy_bits(seen_QN.mean(0)))
    return max(0.0, most - float(compute_entropy_bits(seen_QN).mean())), most


@check_arguments
def area_size_shares(
    attention: AttentionMap, layer: int, head: int | None = None
) -> dict[int, float]:
    """Return the share of the attention on areas of each size (in items). The shares sum to 1.

    The keys are all sizes in the grid, in ascending order. If everything is masked, all shares are
    0.
    """
    sizes_A = attention.grid.sizes()
    totals = np.bincount(sizes_A, _get_weights(attention, layer, head).sum(0, dtype=np.float64))
    shares = totals / (totals.sum() or 1.0)
    return {int(size): float(shares[size]) for size in np.unique(sizes_A)}


@check_arguments
def head_summary(attention: AttentionMap, layers: Sequence[int] | None = None) -> HeadSummary:
    """Return entropy, mean area size, distance and peak of every head, or of some layers' heads."""
    chosen = range(attention.layers) if layers is None else layers
    return HeadSummary(*np.stack([_summarise_layer(attention, layer) for layer in chosen], 1))


def _summarise_layer(attention: AttentionMap, layer: int) -> FloatArray:
    """Return entropy, area size, distance and peak of a layer's heads: float32 [4, H]."""
    weights_HQA = attention.weights[layer]
    bits_H = [entropy(attention, layer, head).sum() for head in range(attention.heads)]
    sums_4H = np.empty((4, attention.heads), np.float32)
    sums_4H[0] = bits_H
    sums_4H[1] = (weights_HQA @ attention.grid.sizes().astype(np.float32)).sum(-1)
    sums_4H[2] = _compute_distances(attention, weights_HQA)
    sums_4H[3] = weights_HQA.max(-1).sum(-1)
    sums_4H /= np.maximum(weights_HQA.any(-1).sum(-1), 1)
    return sums_4H


def find_words(field: Field) -> list[tuple[int, int]]:
    """Group the items of a field into words, as runs (start, end).

    Words are separated by whitespace. Every item is in exactly one run. An item belongs to the word
    that contains its first non-space character. Whitespace between words is a separate run, and so
    is every symbol without text.
    """
    starts = [found.start() for found in re.finditer(r"\s+|\S+", field.raw)]
    runs: list[tuple[int, int]] = []
    previous = None
    for item, (start, end) in enumerate(field.anchors.tolist()):
        text = field.raw[start:end]
        blanks = len(text) - len(text.lstrip())
        word = bisect(starts, start + blanks % max(len(text), 1)) if text else None
        if word is None or word != previous:
            runs.append((item, item + 1))
        else:
            runs[-1] = runs[-1][0], item + 1
        previous = word
    return runs


def merge_items(
    values_QN: FloatArray, queries: Groups | None = None, memory: Groups | None = None
) -> FloatArray:
    """Merge coverage or shares of items into those of runs: float32 [runs, runs].

    Args:
        values_QN: Values of single items.
        queries: Runs of queries to average. None keeps single queries.
        memory: Runs of memory items to sum. None keeps single items.
    """
    merged = values_QN
    if memory is not None:
        merged = np.add.reduceat(merged, [start for start, _ in memory], axis=1)
    if queries is not None:
        merged = np.add.reduceat(merged, [start for start, _ in queries], axis=0)
        merged /= np.array([[end - start] for start, end in queries])
    return merged


def predict_bytes(layers: int, heads: int, queries: int, grid: AreaGrid) -> int:
    """Return the size in bytes of one map's float32 weights, before they are computed."""
    return 4 * layers * heads * queries * grid.count


def _get_weights(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Return the area weights [Q, A] of a head, or their mean over heads."""
    chosen: FloatArray = (
        attention.weights[layer].mean(0) if head is None else attention.weights[layer, head]
    )
    return chosen


def _list_pairs(found: areas.Ranked) -> list[tuple[int, float]]:
    """Return the entries of one row whose weight is above 0, as (index, weight)."""
    pairs = zip(found.index.tolist(), found.weight.tolist(), strict=True)
    return [(index, weight) for index, weight in pairs if index >= 0]


def _compute_distances(attention: AttentionMap, weights_HQA: FloatArray) -> FloatArray:
    """Return the mean distance of each query to its areas' centres, summed over queries: [H]."""
    sides = attention.query, attention.memory
    if attention.query != attention.memory and sides != SAME_TEXT:
        return np.full(attention.heads, np.nan, dtype=np.float32)
    top, left, height, width = attention.grid.table().T
    total_H = np.zeros(attention.heads, dtype=np.float32)
    for query in range(weights_HQA.shape[1]):
        row, column = divmod(query, attention.grid.width)
        distance_A = np.hypot(top + (height - 1) / 2 - row, left + (width - 1) / 2 - column)
        total_H += weights_HQA[:, query] @ distance_A.astype(np.float32)
    return total_H


# The three displays of a map, and a map relative to its head's average.
#
# The top areas ("heaviest") have the largest softmax weights. Coverage is the attention that each
# item received. The densest area is the smallest area with a given share of the coverage. Relative
# to the head's average over all queries, items that all queries attend to, such as an attention
# sink, have a ratio near 1.
#
# Shapes: H heads, Q queries, R rows (queries or groups of them), N items, A areas, M masses.


MASSES = (30, 40, 50, 60, 70, 80, 90)
"""The masses of densest areas that users can choose, in per cent."""
EVEN_SHARE = 0.1
"""Share of both compared maps that is spread evenly over the items to limit ratios."""
SINK = 0.5
"""An item with more than this share of a head's mean map is an attention sink."""


@dataclass(frozen=True, slots=True)
class Sink:
    """An item that a head attends to regardless of the query."""

    # Counted from 0.
    head: int
    item: int
    # Share of the mean map, 0..1.
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """The densest areas of several rows at several masses."""

    # First and last item of each area: int64 [..., R, M, 2].
    ends: IntArray
    # Share that the area holds, 0..1, or 0 in a row of zeros: float32 [..., R, M].
    share: FloatArray


def read_areas(
    attention: AttentionMap, focus: Focus, head: int | None, queries: list[int], k: int
) -> list[Attended]:
    """Return the areas of the focused display for the mean of some queries, at most k areas.

    Top areas have their weight. For coverage, each area is a single item with its share of the
    total coverage. The densest area is one area with the share of the coverage that it holds.
    """
    grid, layer = attention.grid, focus.layer
    if focus.reading == "coverage":
        found = largest_entries(item_shares(attention, layer, head)[queries].mean(0), k)
        pairs = zip(found.index.tolist(), found.weight.tolist(), strict=True)
        return [Attended(make_item_area(grid, item), weight) for item, weight in pairs if item >= 0]
    if focus.reading == "densest":
        mean_1N = item_shares(attention, layer, head)[queries].mean(0, keepdims=True)
        one = find_smallest_areas(mean_1N, grid, focus.mass / 100)
        held = float(one.share[0])
        return [Attended(Area(*one.area[0].tolist()), held)] if held > 0 else []
    heads = slice(None) if head is None else slice(head, head + 1)
    mean_A = attention.weights[layer, heads][:, queries].mean((0, 1))
    return find_top_combined_areas(
        mean_A, grid, k, min_size=find_smallest_area_size(attention, focus)
    )


def find_area_of_each(attention: AttentionMap, focus: Focus, rows: Groups) -> list[Attended | None]:
    """Return the area of the focused display for each group of queries, or None.

    It is the top or densest area of the mean over the group and, if no head is focused, over the
    heads. For coverage, which ranks items, all are None.
    """
    if focus.reading == "coverage":
        return [None] * len(rows)
    layer, head, grid = focus.layer, focus.head, attention.grid
    if focus.reading == "densest":
        shares_RN = merge_items(item_shares(attention, layer, head), rows)
        found = find_smallest_areas(shares_RN, grid, focus.mass / 100)
        areas = [Area(*area) for area in found.area.tolist()]
        weight_R = found.share
    else:
        heads = slice(None) if head is None else slice(head, head + 1)
        mean_QA = attention.weights[layer, heads].mean(0)
        mean_RA = np.stack([mean_QA[start:end].mean(0) for start, end in rows])
        least = find_smallest_area_size(attention, focus)
        tops = rank_areas(mean_RA, grid, 1, min_size=least)
        areas = [grid.area(max(index, 0)) for index in tops.index[:, 0].tolist()]
        weight_R = tops.weight[:, 0]
    pairs = zip(areas, weight_R.tolist(), strict=True)
    return [Attended(area, weight) if weight > 0 else None for area, weight in pairs]


def make_item_area(grid: AreaGrid, item: int) -> Area:
    """Return an item as an area."""
    return Area(*divmod(item, grid.width), 1, 1)


def find_densest_areas(
    shares_HQN: FloatArray, grid: AreaGrid, rows: Groups, masses: tuple[int, ...] = MASSES
) -> Densities:
    """Return the densest areas of heads, for the mean map of each group of queries.

    Args:
        shares_HQN: `item_shares` of the heads, possibly with other axes before Q.
        grid: Areas of the items.
        rows: Groups of neighbouring queries, which may overlap.
        masses: Masses in per cent.
    """
    means = [shares_HQN[..., start:end, :].mean(-2) for start, end in rows]
    rows_HRN = np.stack(means, -2)
    found = find_smallest_areas_of_masses(rows_HRN, grid, [mass / 100 for mass in masses])
    return Densities(_find_ends(found.area, grid), found.share)


def _find_ends(area_R4: IntArray, grid: AreaGrid) -> IntArray:
    """Return the first and last item of areas, [..., 2]."""
    top_R, left_R, height_R, width_R = np.moveaxis(area_R4, -1, 0)
    first_R = top_R * grid.width + left_R
    return np.stack([first_R, first_R + (height_R - 1) * grid.width + width_R - 1], -1)


def average_map(shares_QN: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the mean of the rows that are not fully masked: float64 [N], 0 if all are."""
    total_N: npt.NDArray[np.float64] = shares_QN.sum(0, dtype=np.float64)
    return total_N / max(_count_unmasked(shares_QN), 1)


def _count_unmasked(shares_QN: npt.NDArray[np.floating]) -> int:
    """Return the number of queries that are not fully masked."""
    return int(shares_QN.any(-1).sum())


def compare_with_average(shares_QN: npt.NDArray[np.floating]) -> FloatArray:
    """Return each query's shares relative to the head's average, as log2 ratios: float32 [Q, N].

        log2 (p' / m'), p' = .9 p + .1 / N

    m' is computed in the same way from the average map m. 0 means equal, 1 twice the average, -1
    half of it. A tenth is spread evenly so that tiny shares do not give extreme ratios. Rows of
    fully masked queries are 0.
    """
    even = EVEN_SHARE / shares_QN.shape[-1]
    mean_N = (1 - EVEN_SHARE) * average_map(shares_QN) + even
    ratio_QN = np.log2(((1 - EVEN_SHARE) * shares_QN + even) / mean_N)
    return np.where(shares_QN.any(-1, keepdims=True), ratio_QN, 0).astype(np.float32)


def map_of(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    against: str,
    queries: Groups | None = None,
    memory: Groups | None = None,
) -> FloatArray:
    """Return item shares, or their ratio to the head's average. For groups see `merge_items`."""
    shares_QN = item_shares(attention, layer, head)
    if against == "nothing":
        return merge_items(shares_QN, queries, memory)
    # Compare words with words: sum the shares of their items first, and average queries afterwards.
    return merge_items(compare_with_average(merge_items(shares_QN, None, memory)), queries)


def find_sinks(attention: AttentionMap, layer: int) -> list[Sink]:
    """Return the attention sinks of a layer's heads, see `find_sink`."""
    heads = range(attention.heads)
    found = [find_sink(item_shares(attention, layer, head), head) for head in heads]
    return [one for one in found if one]


def find_sink(shares_QN: FloatArray, head: int) -> Sink | None:
    """Return the item with more than half of a head's mean map over the given queries, or None.

    With a single query or a single item there is no sink.
    """
    if _count_unmasked(shares_QN) < 2 or shares_QN.shape[-1] < 2:
        return None
    mean_N = average_map(shares_QN)
    item = int(mean_N.argmax())
    return Sink(head, item, float(mean_N[item])) if mean_N[item] > SINK else None

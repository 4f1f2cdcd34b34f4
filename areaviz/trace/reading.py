"""The three displays of a map, and a map relative to its head's average.

The top areas ("heaviest") have the largest softmax weights. Coverage is the attention that each
item received. The densest area is the smallest area with a given share of the coverage. Relative to
the head's average over all queries, items that all queries attend to, such as an attention sink,
have a ratio near 1.

Shapes: H heads, Q queries, R rows (queries or groups of them), N items, A areas, M masses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.query import (
    Attended,
    Groups,
    find_smallest_area_size,
    find_top_combined_areas,
    item_shares,
    merge_items,
)
from areaviz.trace.record import AttentionMap, FloatArray, IntArray
from areaviz.trace.request import Focus
from areaviz.trace.smallest_areas import densest_areas, densest_areas_of_masses
from areaviz.trace.weights import largest_entries, top_areas

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
        one = densest_areas(mean_1N, grid, focus.mass / 100)
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
        found = densest_areas(shares_RN, grid, focus.mass / 100)
        areas = [Area(*area) for area in found.area.tolist()]
        weight_R = found.share
    else:
        heads = slice(None) if head is None else slice(head, head + 1)
        mean_QA = attention.weights[layer, heads].mean(0)
        mean_RA = np.stack([mean_QA[start:end].mean(0) for start, end in rows])
        least = find_smallest_area_size(attention, focus)
        tops = top_areas(mean_RA, grid, 1, min_size=least)
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
    found = densest_areas_of_masses(rows_HRN, grid, [mass / 100 for mass in masses])
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

"""Questions to a trace: which areas, with what weight?

Shapes: L layers, H heads, Q queries, A areas, N items, R rows of weights, K areas asked for. Wherever a
head may be None, the answer is for the mean of the heads' weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray

Groups = Sequence[tuple[int, int]]
"""Runs of items as (start, end), the end exclusive; together they cover every item once, in order."""


@dataclass(frozen=True, slots=True)
class Attended:
    """One attended area and its weight, 0..1."""

    area: Area
    weight: float


@dataclass(frozen=True, slots=True)
class Attending:
    """One query (0-based) and how much of its attention areas that hold the item receive, 0..1."""

    query: int
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class HeadSummary:
    """Statistics of every head, each float32 [L, H], averaged over queries.

    entropy: of the area weights, in bits. area_size: mean items an attended area holds. distance: mean
    items between query and area centre (NaN when query and memory are different texts). peak: mean
    weight of the top area. Fully masked queries are left out; a head that only has such queries gets 0.
    """

    entropy: FloatArray
    area_size: FloatArray
    distance: FloatArray
    peak: FloatArray


def top_areas(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    query: int,
    k: int = 3,
    max_overlap: float = 0.5,
    min_size: int = 1,
) -> list[Attended]:
    """The k heaviest areas of a query, skipping those that overlap a heavier one by more than `max_overlap` (IoU).

    min_size: areas of fewer items are left out. Areas without weight never count; of equal weights the
    area of lower index comes first.
    """
    weights_RA = _weights(attention, layer, head)[query : query + 1]
    weights_RA = np.where(attention.grid.sizes() >= min_size, weights_RA, 0)
    index_RK, weight_RK = _heaviest(weights_RA, attention.grid, k, max_overlap)
    pairs = zip(index_RK[0].tolist(), weight_RK[0].tolist(), strict=True)
    return [Attended(attention.grid.area(index), weight) for index, weight in pairs if index >= 0]


def top_area_indices(
    attention: AttentionMap, layer: int, k: int = 3, max_overlap: float = 0.5
) -> tuple[IntArray, FloatArray]:
    """`top_areas` of every head and query at once: indices int64 [H, Q, K] and weights float32 [H, Q, K].

    Where a query has fewer than k such areas, the index is -1 and the weight 0.
    """
    found = [_heaviest(weights_QA, attention.grid, k, max_overlap) for weights_QA in attention.weights[layer]]
    return np.stack([index for index, _ in found]), np.stack([weight for _, weight in found])


def top_queries(attention: AttentionMap, layer: int, head: int | None, item: int, k: int = 3) -> list[Attending]:
    """The k queries that attend most to areas which hold memory item `item`; queries that never do are left out."""
    weights_Q = _weights(attention, layer, head)[:, _holds(attention.grid, item)].sum(-1)
    order = np.argsort(-weights_Q, kind="stable")[:k]
    return [Attending(int(query), float(weights_Q[query])) for query in order if weights_Q[query] > 0]


def coverage(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """How much attention every memory item receives, by areas that hold it: float32 [Q, N].

    A row sums to the mean attended area size (1 to the largest area), not to 1 (Eq. 4: values are sums).
    """
    grid, weights_QA = attention.grid, _weights(attention, layer, head)
    strips = []
    for height in range(1, grid.max_height + 1):
        slabs = []
        for width in range(1, grid.max_width + 1):
            first, rows, columns = grid.slab(height, width)
            slabs.append(weights_QA[:, first : first + rows * columns].reshape(-1, rows, columns))
        strips.append(_spread(slabs).swapaxes(1, 2))
    return _spread(strips).swapaxes(1, 2).reshape(-1, grid.items)


def item_shares(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Coverage with each row divided by its sum: float32 [Q, N], rows sum to 1 (0 where fully masked)."""
    covered_QN = coverage(attention, layer, head)
    total_Q1 = covered_QN.sum(-1, keepdims=True)
    shares_QN: FloatArray = np.divide(covered_QN, total_Q1, out=np.zeros_like(covered_QN), where=total_Q1 > 0)
    return shares_QN


def entropy(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Entropy of the area weights of every query, in bits: float32 [Q]; 0 where fully masked."""
    weights_QA = _weights(attention, layer, head)
    bits_QA = np.log2(weights_QA, out=np.zeros_like(weights_QA), where=weights_QA > 0)
    entropy_Q: FloatArray = np.maximum(-np.einsum("qa,qa->q", weights_QA, bits_QA), 0)
    return entropy_Q


def divergence(first_RN: FloatArray, second_RN: FloatArray) -> FloatArray:
    """Jensen-Shannon divergence of two sets of distributions, row by row, in bits: float32 [R].

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 (Lin 1991); 0 where they are the same, 1 where they share nothing.
    """
    mean, halves = _bits(np.asarray(first_RN + second_RN) / 2), (_bits(first_RN) + _bits(second_RN)) / 2
    found: FloatArray = np.clip(mean - halves, 0, 1).astype(np.float32)
    return found


def _bits(shares_RN: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Entropy of every row in bits; a share of 0 adds nothing."""
    shares = shares_RN.astype(np.float64)
    bits: npt.NDArray[np.floating] = -np.einsum(
        "rn,rn->r", shares, np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    )
    return bits


def area_size_shares(attention: AttentionMap, layer: int, head: int | None = None) -> dict[int, float]:
    """What share of the attention goes to areas of each size (in items); the shares sum to 1.

    Every size the grid has is a key, in rising order. Where everything is masked all shares are 0.
    """
    sizes_A = attention.grid.sizes()
    totals = np.bincount(sizes_A, _weights(attention, layer, head).sum(0, dtype=np.float64))
    shares = totals / (totals.sum() or 1.0)
    return {int(size): float(shares[size]) for size in np.unique(sizes_A)}


def head_summary(attention: AttentionMap) -> HeadSummary:
    """Entropy, mean area size, distance and peak of every head."""
    layers = [_layer_summary(attention, layer) for layer in range(attention.layers)]
    return HeadSummary(*np.stack(layers, 1))


def _layer_summary(attention: AttentionMap, layer: int) -> FloatArray:
    """Entropy, area size, distance and peak of a layer's heads: float32 [4, H]."""
    weights_HQA = attention.weights[layer]
    seen_H = np.maximum(weights_HQA.any(-1).sum(-1), 1)
    bits_H = [entropy(attention, layer, head).sum() for head in range(attention.heads)]
    sizes_H = (weights_HQA @ attention.grid.sizes().astype(np.float32)).sum(-1)
    sums = bits_H, sizes_H, _distances(attention, layer), weights_HQA.max(-1).sum(-1)
    means_4H: FloatArray = np.stack([np.asarray(sum_H, np.float32) for sum_H in sums]) / seen_H.astype(np.float32)
    return means_4H


def words(field: Field) -> list[tuple[int, int]]:
    """The items of a field in runs (start, end), one run a blank-delimited word; every item is in one run.

    An item belongs to the word of its first character that is no blank. Blanks between words are a run of
    their own, and so is every symbol that stands for no text.
    """
    run_of: list[int] = []
    for number, (_, group) in enumerate(groupby(field.raw, str.isspace)):
        run_of += [number] * sum(1 for _ in group)
    keys = [_run(field.raw, run_of, start, end, item) for item, (start, end) in enumerate(field.anchors.tolist())]
    runs, first = [], 0
    for _, members in groupby(keys):
        runs.append((first, first := first + sum(1 for _ in members)))
    return runs


def merge_items(values_QN: FloatArray, queries: Groups | None = None, memory: Groups | None = None) -> FloatArray:
    """Coverage or shares of runs of items, such as `words`: the mean over queries, the sum over memory items.

    Float32 [runs of queries, runs of memory]; None leaves that side as it is.
    """
    merged = values_QN
    if memory is not None:
        merged = np.add.reduceat(merged, [start for start, _ in memory], axis=1)
    if queries is not None:
        merged = np.add.reduceat(merged, [start for start, _ in queries], axis=0)
        merged /= np.array([[end - start] for start, end in queries])
    return merged


def predicted_bytes(layers: int, heads: int, queries: int, grid: AreaGrid) -> int:
    """How many bytes the float32 weights of one map will take, known before anything is computed."""
    return 4 * layers * heads * queries * grid.count


def _weights(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """The area weights [Q, A] of a head, or their mean over heads."""
    chosen: FloatArray = attention.weights[layer].mean(0) if head is None else attention.weights[layer, head]
    return chosen


def _heaviest(weights_RA: FloatArray, grid: AreaGrid, k: int, max_overlap: float) -> tuple[IntArray, FloatArray]:
    """Greedy choice with overlap suppression, all rows at once: (indices [R, K], weights [R, K])."""
    table, left_RA, rows = grid.table(), weights_RA.copy(), np.arange(len(weights_RA))
    index_RK = np.full((len(rows), k), -1, dtype=np.int64)
    weight_RK = np.zeros((len(rows), k), dtype=np.float32)
    for rank in range(k):
        best_R = left_RA.argmax(1)
        weight_RK[:, rank] = left_RA[rows, best_R]
        index_RK[:, rank] = np.where(weight_RK[:, rank] > 0, best_R, -1)
        left_RA[_overlaps(table, best_R) > max_overlap] = 0
        left_RA[rows, best_R] = 0
    return index_RK, weight_RK


def _overlaps(table: IntArray, chosen_R: IntArray) -> npt.NDArray[np.float64]:
    """Intersection over union of the chosen areas with all areas: float64 [R, A]."""
    shared_RA = np.ones((len(chosen_R), len(table)), dtype=np.int64)
    for start, extent in ((0, 2), (1, 3)):
        low_A, high_A = table[:, start], table[:, start] + table[:, extent]
        low_RA = np.maximum(low_A[chosen_R, None], low_A)
        shared_RA *= np.maximum(np.minimum(high_A[chosen_R, None], high_A) - low_RA, 0)
    size_A = table[:, 2] * table[:, 3]
    return shared_RA / (size_A[chosen_R, None] + size_A - shared_RA)


def _spread(starts: Sequence[FloatArray]) -> FloatArray:
    """Give every item on the last axis the weights of the runs that hold it, without any subtraction.

    starts: for extents 1..S an array [..., X - extent + 1] of weights by first item. Returns [..., X].
    Walking down from the longest runs, `carry` holds all runs of at least this extent: these, and only
    these, reach the item `extent - 1` after their first.
    """
    spread = np.zeros_like(starts[0])
    carry = np.zeros_like(starts[-1][..., :-1])
    for extent in range(len(starts), 0, -1):
        longer, carry = carry, starts[extent - 1].copy()
        carry[..., : longer.shape[-1]] += longer
        spread[..., extent - 1 :] += carry
    return spread


def _holds(grid: AreaGrid, item: int) -> npt.NDArray[np.bool_]:
    """Which areas hold an item: bool [A]."""
    row, column = divmod(item, grid.width)
    top, left, height, width = grid.table().T
    held: npt.NDArray[np.bool_] = (top <= row) & (row < top + height) & (left <= column) & (column < left + width)
    return held


def _distances(attention: AttentionMap, layer: int) -> FloatArray:
    """Sum over queries of the mean distance between a query and the centres of its areas: float32 [H]."""
    if attention.query != attention.memory and (attention.query, attention.memory) != ("target", "history"):
        return np.full(attention.heads, np.nan, dtype=np.float32)
    top, left, height, width = attention.grid.table().T
    weights_HQA, total_H = attention.weights[layer], np.zeros(attention.heads, dtype=np.float32)
    for query in range(weights_HQA.shape[1]):
        row, column = divmod(query, attention.grid.width)
        distance_A = np.hypot(top + (height - 1) / 2 - row, left + (width - 1) / 2 - column)
        total_H += weights_HQA[:, query] @ distance_A.astype(np.float32)
    return total_H


def _run(raw: str, run_of: Sequence[int], start: int, end: int, item: int) -> tuple[str, int]:
    """What an item is grouped by: its word, or itself where it stands for no text."""
    if start == end:
        return "symbol", item
    text = raw[start:end]
    blanks = len(text) - len(text.lstrip())
    return "word", run_of[start + (blanks if blanks < len(text) else 0)]

"""Questions to a trace: which areas, with what weight?

Each picks a map's layer and head and asks the algebra of areas (`areaviz.trace.weights`), which
works on arrays. Wherever a head may be None, the answer is for the mean of the heads' weights.

Shapes: L layers, H heads, Q queries, A areas, N items, R rows of weights.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.trace import densest, weights
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.asked import checked_question
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus

# Runs of items as (start, end), the end exclusive; together they hold every item once, in order.
Groups = Sequence[tuple[int, int]]
# Fields whose items stand in one text: a history is its target, one place later.
SAME_TEXT = ("target", "history")


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

    Fully masked queries are left out; a head that only has such queries gets 0.
    """

    # Of the area weights, in bits.
    entropy: FloatArray
    # Mean items that an attended area holds.
    area_size: FloatArray
    # Mean items between query and area centre; NaN where query and memory are different texts.
    distance: FloatArray
    # Mean weight of the heaviest area.
    peak: FloatArray


def is_one_text(trace: Trace) -> bool:
    """Whether what is read and what is written are one text, as those of a language model are."""
    return "history" in trace.fields and trace.fields.keys() <= set(SAME_TEXT)


def output_given(trace: Trace) -> str:
    """The output as a request can give it: of a language model, what stands behind its text."""
    if trace.request.target is not None:
        return trace.request.target
    if is_one_text(trace):
        return trace.fields["history"].raw.removeprefix(trace.request.text)
    return trace.fields[trace.output.field].raw


@checked_question
def top_areas(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    query: int,
    k: int = 3,
    max_overlap: float = weights.MAX_OVERLAP,
    min_size: int = 1,
) -> list[Attended]:
    """The k heaviest areas of a query, the heaviest first.

    Areas without weight never count; of equal weights the area of lower index comes first.

    Args:
        attention: the map.
        layer: counted from 0.
        head: counted from 0.
        query: counted from 0.
        k: most areas.
        max_overlap: an area that overlaps a heavier one by more (IoU) is left out.
        min_size: areas of fewer items are left out.
    """
    heads = slice(None) if head is None else slice(head, head + 1)
    mean_A = attention.weights[layer, heads, query].mean(0)
    return attended(mean_A, attention.grid, k, max_overlap, min_size)


def attended(
    weights_A: FloatArray,
    grid: AreaGrid,
    k: int = 3,
    max_overlap: float = weights.MAX_OVERLAP,
    min_size: int = 1,
) -> list[Attended]:
    """The same of weights that are no single query's, such as the mean over several."""
    found = weights.top_areas(weights_A, grid, k, max_overlap, min_size)
    return [Attended(grid.area(index), weight) for index, weight in _pairs(found)]


def smallest_area(attention: AttentionMap, focus: Focus) -> int:
    """How many items an area must have to be shown: two where the focus is on areas of several."""
    return 2 if focus.areas == "several" and attention.grid.count > attention.grid.items else 1


@checked_question
def densest_areas(
    attention: AttentionMap, layer: int, head: int | None, mass: float = densest.MASS
) -> list[Attended | None]:
    """The densest area of every query, with the share it holds; None where everything is masked.

    It is the smallest span or rectangle that holds at least `mass` of what the items receive
    (`item_shares`). Raises ValueError where the mass is not above 0 and at most 1.
    """
    found = densest.densest_areas(item_shares(attention, layer, head), attention.grid, mass)
    pairs = zip(found.area.tolist(), found.share.tolist(), strict=True)
    return [Attended(Area(*area), share) if share > 0 else None for area, share in pairs]


@checked_question
def top_queries(
    attention: AttentionMap, layer: int, head: int | None, item: int, k: int = 3
) -> list[Attending]:
    """The k queries that attend most to areas that hold an item; those that never do are not."""
    found = weights.largest(coverage(attention, layer, head)[:, item], k)
    return [Attending(query, weight) for query, weight in _pairs(found)]


@checked_question
def coverage(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """How much attention every item receives, by all areas that hold it: float32 [Q, N].

    A row sums to the mean size of an attended area, not to 1 (Li et al. 2019, Eq. 4: sums).
    """
    return weights.coverage(_weights(attention, layer, head), attention.grid)


@checked_question
def item_shares(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Coverage with each row divided by its sum: float32 [Q, N]; 0 where fully masked."""
    return weights.shares(coverage(attention, layer, head))


def head_shares(attention: AttentionMap, layer: int) -> FloatArray:
    """The same of every head of a layer: float32 [H, Q, N]."""
    return weights.shares(weights.coverage(attention.weights[layer], attention.grid))


@checked_question
def entropy(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """Entropy of the area weights of every query, in bits: float32 [Q]; 0 where fully masked."""
    # Single precision: a head's weights of many areas are large, and so would their logs be.
    weights_QA = _weights(attention, layer, head)
    bits_QA = np.log2(weights_QA, out=np.zeros_like(weights_QA), where=weights_QA > 0)
    entropy_Q: FloatArray = np.maximum(-np.einsum("qa,qa->q", weights_QA, bits_QA), 0)
    return entropy_Q


def entropy_bits(shares_RN: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Entropy of every row of shares in bits, float64 [R]; a share of 0 adds nothing."""
    shares = shares_RN.astype(np.float64)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: npt.NDArray[np.float64] = -np.einsum("...n,...n->...", shares, logs)
    return bits


def divergence(first_RN: FloatArray, second_RN: FloatArray) -> FloatArray:
    """Jensen-Shannon divergence of two sets of distributions, row by row, in bits: float32 [R].

    JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 (Lin 1991); 0 where they are the same, 1 where
    they share nothing.
    """
    mean = entropy_bits(np.asarray(first_RN + second_RN) / 2)
    halves = (entropy_bits(first_RN) + entropy_bits(second_RN)) / 2
    found: FloatArray = np.clip(mean - halves, 0, 1).astype(np.float32)
    return found


def query_dependence(shares_QN: npt.NDArray[np.floating]) -> tuple[float, float]:
    """The mutual information of query and attended item, and its ceiling, both in bits.

        I = H(mean map) - mean H(map), the queries that attend to anything equally likely

    The ceiling is H(mean map): a head that looks at another single item for each query reaches it.
    A head that looks at the same place for every query has 0; both are 0 where nothing is
    attended to.
    """
    seen_QN = shares_QN[shares_QN.any(-1)].astype(np.float64)
    if not len(seen_QN):
        return 0.0, 0.0
    most = float(entropy_bits(seen_QN.mean(0)))
    return max(0.0, most - float(entropy_bits(seen_QN).mean())), most


@checked_question
def area_size_shares(
    attention: AttentionMap, layer: int, head: int | None = None
) -> dict[int, float]:
    """What share of the attention goes to areas of each size (in items); the shares sum to 1.

    Every size the grid has is a key, in rising order. Where everything is masked all shares are 0.
    """
    sizes_A = attention.grid.sizes()
    totals = np.bincount(sizes_A, _weights(attention, layer, head).sum(0, dtype=np.float64))
    shares = totals / (totals.sum() or 1.0)
    return {int(size): float(shares[size]) for size in np.unique(sizes_A)}


@checked_question
def head_summary(attention: AttentionMap, layers: Sequence[int] | None = None) -> HeadSummary:
    """Entropy, mean area size, distance and peak of every head, or of those of some layers."""
    chosen = range(attention.layers) if layers is None else layers
    return HeadSummary(*np.stack([_layer_summary(attention, layer) for layer in chosen], 1))


def _layer_summary(attention: AttentionMap, layer: int) -> FloatArray:
    """Entropy, area size, distance and peak of a layer's heads: float32 [4, H]."""
    weights_HQA = attention.weights[layer]
    bits_H = [entropy(attention, layer, head).sum() for head in range(attention.heads)]
    sums_4H = np.empty((4, attention.heads), np.float32)
    sums_4H[0] = bits_H
    sums_4H[1] = (weights_HQA @ attention.grid.sizes().astype(np.float32)).sum(-1)
    sums_4H[2] = _distances(attention, weights_HQA)
    sums_4H[3] = weights_HQA.max(-1).sum(-1)
    sums_4H /= np.maximum(weights_HQA.any(-1).sum(-1), 1)
    return sums_4H


def words(field: Field) -> list[tuple[int, int]]:
    """The items of a field in runs (start, end), one run a blank-delimited word.

    Every item is in one run. An item belongs to the word of its first character that is no blank.
    Blanks between words are a run of their own, and so is every symbol that stands for no text.
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
    """Coverage or shares of runs of items, such as `words`, as float32 [runs, runs].

    Args:
        values_QN: of single items.
        queries: runs of queries, of which the mean is taken; None leaves them as they are.
        memory: runs of memory items, which are added up; None leaves them as they are.
    """
    merged = values_QN
    if memory is not None:
        merged = np.add.reduceat(merged, [start for start, _ in memory], axis=1)
    if queries is not None:
        merged = np.add.reduceat(merged, [start for start, _ in queries], axis=0)
        merged /= np.array([[end - start] for start, end in queries])
    return merged


def predicted_bytes(layers: int, heads: int, queries: int, grid: AreaGrid) -> int:
    """How many bytes the float32 weights of one map take, known before anything is computed."""
    return 4 * layers * heads * queries * grid.count


def _weights(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    """The area weights [Q, A] of a head, or their mean over heads."""
    chosen: FloatArray = (
        attention.weights[layer].mean(0) if head is None else attention.weights[layer, head]
    )
    return chosen


def _pairs(found: weights.Ranked) -> list[tuple[int, float]]:
    """The entries of one row that have any weight, by index."""
    pairs = zip(found.index.tolist(), found.weight.tolist(), strict=True)
    return [(index, weight) for index, weight in pairs if index >= 0]


def _distances(attention: AttentionMap, weights_HQA: FloatArray) -> FloatArray:
    """Distance of a query and the centres of its areas, its mean summed over queries: [H]."""
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

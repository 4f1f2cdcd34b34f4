"""The words of a text: the attention they receive, and the areas that match them.

Words are runs of items between spaces (`trace.query.find_words`). Spaces and symbols without text
belong to no word. Each of three metrics gives an area the value 0 or 1:

- purity: all its items belong to one word.
- cover: it contains all items of at least one word.
- exact: its items are exactly those of one word.

Shapes: H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M metrics, P
moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.query import find_words, merge_items
from areaviz.trace.record import AttentionMap, Field

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

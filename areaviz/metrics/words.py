"""The words of a text: what attention they receive, and which areas fit them.

Words are runs of items between blanks (`trace.query.words`). A blank belongs to no word, nor does a
symbol that stands for no text. An area is 0 or 1 by each of three measures:

purity: all its items belong to one word. cover: it holds all items of at least one word. exact: its
items are those of one word, no more and no less.

Shapes: H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M measures, P
moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.query import merge_items, words
from areaviz.trace.record import AttentionMap, Field, FloatArray, IntArray

MEASURES = ("purity", "cover", "exact")
Array = npt.NDArray[np.float64]


def word_runs(field: Field) -> list[tuple[int, int]]:
    """The items of every word as (start, end), in order."""
    return [run for run in words(field) if _is_word(field, run)]


def word_attention(shares_QN: FloatArray, query: Field, memory: Field) -> FloatArray:
    """Attention between words: float32 [words of `query`, words of `memory`].

    Summed over the memory items of a word and averaged over its query items; a row sums to at most
    1, since the shares of blanks and symbols are left out.

    Args:
        shares_QN: float32 [Q, N], such as `item_shares`.
        query: the field that attends.
        memory: the field that is attended to.
    """
    runs = [words(query), words(memory)]
    chosen = []
    for field, of_field in zip((query, memory), runs, strict=True):
        chosen.append([number for number, run in enumerate(of_field) if _is_word(field, run)])
    return merge_items(shares_QN, *runs)[np.ix_(*chosen)]


def visible_items(attention: AttentionMap, memory: Field) -> IntArray:
    """How many items each query can see, int64 [Q]: of what a decoder was fed, items 0..q."""
    visible_Q = np.full(attention.weights.shape[2], len(memory))
    if attention.memory == "history":
        visible_Q = np.minimum(np.arange(len(visible_Q)) + 1, len(memory))
    return visible_Q


def _is_word(field: Field, run: tuple[int, int]) -> bool:
    """Whether a run of items holds any text but blanks."""
    start, end = field.anchors[run[0], 0], field.anchors[run[1] - 1, 1]
    return bool(field.raw[start:end].strip())


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Sums over queries; those of several traces of one model add up with `+`.

    Adding raises ValueError when the sums are of models with different layers or heads.
    """

    # By name, each float64 [L, H] or [L, H, ...].
    sums: Mapping[str, Array]

    @classmethod
    def of_layers(cls, layers: list[dict[str, Array]]) -> Self:
        """From the sums of every layer, each [H] or [H, ...]."""
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
    """The counts of every site added up, in the order in which sites come first."""
    totals: dict[str, AnyCounts] = {}
    for site, one in counts:
        totals[site] = totals[site] + one if site in totals else one
    return totals


@dataclass(frozen=True, slots=True, eq=False)
class WordAreas:
    """Every area of a text by every measure."""

    # Index of the first area of each width, int64 [W].
    first_W: IntArray
    # Of every area, int64 [A].
    left_A: IntArray
    width_A: IntArray
    # Whether each area has each measure, 0 or 1: [A, M].
    hits_AM: Array
    # Their mean over an area's place and those before it: [A, M].
    running_AM: Array

    @classmethod
    def of(cls, grid: AreaGrid, memory: Field) -> Self:
        """Of the areas of one text."""
        _, left_A, _, width_A = grid.table().T
        first_W = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
        hits_AM = _hits(left_A, width_A, memory)
        means = []
        for slab in np.split(hits_AM, first_W[1:]):
            means.append(slab.cumsum(0) / np.arange(1, len(slab) + 1)[:, None])
        return cls(first_W, left_A, width_A, hits_AM, np.concatenate(means))

    def chance(self, width: IntArray, visible: IntArray) -> Array:
        """Expected hits of an area put anywhere among the first `visible` items: [..., M]."""
        last = self.first_W[width - 1] + np.maximum(visible - width, 0)
        expected: Array = self.running_AM[last]
        return expected

    def moved(self, left_HQ: IntArray, width_HQ: IntArray, visible_Q: IntArray) -> Array:
        """Mean hits of each area at the same distance from every query of the sentence: [H, Q, M].

        Distance counts from the query's own place or, in another text, from the place as far along.
        Queries from which the area would stick out of what they see are left out. P such moves
        differ.
        """
        items, queries, widths = int(self.left_A.max()) + 1, len(visible_Q), len(self.first_W)
        place_Q = (2 * np.arange(queries) + 1) * items // (2 * queries)
        moves_P, which = np.unique((left_HQ - place_Q) * widths + width_HQ - 1, return_inverse=True)
        left_PQ = (moves_P // widths)[:, None] + place_Q
        width_P1 = (moves_P % widths)[:, None] + 1
        fits_PQ = (left_PQ >= 0) & (left_PQ + width_P1 <= visible_Q)
        area_PQ = self.first_W[width_P1 - 1] + left_PQ * fits_PQ
        # One measure after the other, so that no [P, Q, M] is made.
        hits_MP = np.stack([(hits_A[area_PQ] * fits_PQ).sum(-1) for hits_A in self.hits_AM.T])
        mean_PM = (hits_MP / np.maximum(fits_PQ.sum(-1), 1)).T
        mean_HQM: Array = mean_PM[which.reshape(left_HQ.shape)]
        return mean_HQM


def _hits(left_A: IntArray, width_A: IntArray, memory: Field) -> Array:
    """Whether each area has each measure, 0 or 1: [A, M]."""
    runs = np.array(word_runs(memory), dtype=np.int64).reshape(-1, 2)
    word_N = np.full(len(memory), -1)
    for word, (start, end) in enumerate(runs):
        word_N[start:end] = word
    right_A = left_A + width_A
    pure_A = (word_N[left_A] >= 0) & (word_N[left_A] == word_N[right_A - 1])
    # The first word that starts at or after the left edge is the one that fits soonest.
    ends = np.append(runs[:, 1], np.iinfo(np.int64).max)[np.searchsorted(runs[:, 0], left_A)]
    cover_A = ends <= right_A
    return np.stack([pure_A, cover_A, pure_A & cover_A], 1).astype(np.float64)

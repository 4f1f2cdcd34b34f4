"""Every area of a text judged: is it within a word, does it hold one, is it one? And what is to be
expected elsewhere?

Words are runs of items between blanks (`trace.query.words`). A blank belongs to no word, nor does a
symbol that stands for no text, so an area that holds one is in no case pure or exact. Of an area, 0
or 1:

purity: all its items belong to one word. cover: it holds all items of at least one word. exact: its
items are those of one word, no more and no less.

Shapes: H heads, Q queries, N items, A areas, W widths of areas (index is width - 1), M measures, P
moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.metrics.words import word_runs
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Field, IntArray

MEASURES = ("purity", "cover", "exact")
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedAreas:
    """Every area of a text judged: hits float64 [A, M], and their mean over an area's place and
    those before it.

    first: index of the first area of each width, int64 [W]. left, width: of every area, int64 [A].
    """

    first_W: IntArray
    left_A: IntArray
    width_A: IntArray
    hits_AM: Array
    running_AM: Array

    @classmethod
    def of(cls, grid: AreaGrid, memory: Field) -> JudgedAreas:
        _, left_A, _, width_A = grid.table().T
        first_W = np.array([grid.slab(1, width)[0] for width in range(1, grid.max_width + 1)])
        hits_AM = _hits(left_A, width_A, memory)
        slabs = np.split(hits_AM, first_W[1:])
        running_AM = np.concatenate(
            [slab.cumsum(0) / np.arange(1, len(slab) + 1)[:, None] for slab in slabs]
        )
        return cls(first_W, left_A, width_A, hits_AM, running_AM)

    def chance(self, width: IntArray, visible: IntArray) -> Array:
        """Expected hits of an area of `width` items put anywhere among the first `visible`: [...,
        M].
        """
        expected: Array = self.running_AM[self.first_W[width - 1] + np.maximum(visible - width, 0)]
        return expected

    def moved(self, left_HQ: IntArray, width_HQ: IntArray, visible_Q: IntArray) -> Array:
        """Mean hits of each area when put at the same distance from every query of the sentence in
        turn: [H, Q, M].

        Distance counts from the query's own place or, in another text, from the place as far along.
        Queries from which the area would stick out of what they see are left out. P such moves
        differ.
        """
        items, queries, widths = int(self.left_A.max()) + 1, len(visible_Q), len(self.first_W)
        place_Q = (2 * np.arange(queries) + 1) * items // (2 * queries)
        moves_P, which = np.unique((left_HQ - place_Q) * widths + width_HQ - 1, return_inverse=True)
        left_PQ, width_P1 = (moves_P // widths)[:, None] + place_Q, (moves_P % widths)[:, None] + 1
        fits_PQ = (left_PQ >= 0) & (left_PQ + width_P1 <= visible_Q)
        area_PQ = self.first_W[width_P1 - 1] + left_PQ * fits_PQ
        hits_MP = np.stack([(hits_A[area_PQ] * fits_PQ).sum(-1) for hits_A in self.hits_AM.T])
        mean_PM = (hits_MP / np.maximum(fits_PQ.sum(-1), 1)).T
        mean_HQM: Array = mean_PM[which.reshape(left_HQ.shape)]
        return mean_HQM


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

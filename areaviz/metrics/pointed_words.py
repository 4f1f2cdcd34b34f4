"""Metrics of whether the mean map of several heads points at known boxes, moments or frames.

A word is right if the heaviest candidate of its mean map is in its place. Candidates are the items,
or all areas if a metric is about the heaviest area.

Shapes: L layers, H heads, Q queries, W words with a known place, N candidates, S steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.metrics.localisation import BoolArray, IntArray
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import STEPS, Choice, shift_by_step

ROUNDS = 1000
"""Number of resampled sets of examples for an interval."""


@dataclass(frozen=True, slots=True, eq=False)
class PointedWords:
    """The rows of every head for words whose place is known, over many examples."""

    # Row of each word at each step of `STEPS`, float32 [S, L, H, W, N].
    rows: FloatArray
    # True if a candidate is in the place of the word, [W, N].
    right: BoolArray
    # Number of the example of each word, ascending, [W].
    examples: IntArray

    @classmethod
    def of(cls, weights_LHQN: FloatArray, queries: Sequence[int], right: BoolArray) -> PointedWords:
        """Read one example: all its rows, the query of each word, and the word's place [W, N]."""
        later = [_shift_rows(weights_LHQN, step)[:, :, list(queries)] for step in STEPS]
        rows = np.stack(later).astype(np.float32)
        return cls(rows, right, np.zeros(len(queries), np.int64))

    @classmethod
    def joined(cls, examples: Sequence[PointedWords]) -> PointedWords:
        """Join examples of one model. Examples with fewer candidates are filled with zeros.

        Raises:
            ValueError: There are no words.
        """
        if not any(len(one) for one in examples):
            raise ValueError("There are no words with a known place. Give at least one.")
        most = max(one.right.shape[1] for one in examples)
        rows, right, numbers = [], [], []
        for number, one in enumerate(examples):
            missing = most - one.right.shape[1]
            rows.append(np.pad(one.rows, [(0, 0)] * 4 + [(0, missing)]))
            right.append(np.pad(one.right, [(0, 0), (0, missing)]))
            numbers.append(np.full(len(one), number))
        return cls(np.concatenate(rows, 3), np.concatenate(right), np.concatenate(numbers))

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.right)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of layers and of heads per layer."""
        return self.rows.shape[1], self.rows.shape[2]

    def tops(self, heads: Sequence[Choice]) -> IntArray:
        """Return the heaviest candidate of each word in the mean map of heads: [W]."""
        tops: IntArray = self._mean(heads).argmax(-1)
        return tops

    def hits(self, heads: Sequence[Choice]) -> BoolArray:
        """Return whether the mean map of heads points at the place of each word: [W]."""
        found: BoolArray = self.right[np.arange(len(self)), self.tops(heads)]
        return found

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the share of words that the mean map of heads points at wrongly, 0..1."""
        return 1.0 - float(self.hits(heads).mean())

    def blind(self, heads: Sequence[Choice]) -> float:
        """Return the share of right words, 0..1, if every word gets the mean map of all words."""
        fixed = int(self._mean(heads).mean(0).argmax())
        return float(self.right[:, fixed].mean())

    def _mean(self, heads: Sequence[Choice]) -> FloatArray:
        rows = [self.rows[STEPS.index(step), layer, head] for layer, head, step in heads]
        mean_WN: FloatArray = np.mean(rows, axis=0, dtype=np.float32)
        return mean_WN


def bootstrap_hit_interval(
    hits_W: BoolArray, examples_W: IntArray, rounds: int = ROUNDS, seed: int = 1
) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % quantiles of the share of hits over resampled examples."""
    numbers, own_W = np.unique(examples_W, return_inverse=True)
    words_E = np.bincount(own_W)
    hits_E = np.bincount(own_W, hits_W)
    drawn_RE = np.random.default_rng(seed).integers(len(numbers), size=(rounds, len(numbers)))
    shares_R = hits_E[drawn_RE].sum(1) / words_E[drawn_RE].sum(1)
    low, high = np.quantile(shares_R, (0.025, 0.975))
    return float(low), float(high)


def _shift_rows(weights_LHQN: FloatArray, step: int) -> FloatArray:
    """Return the rows of every head that are read `step` steps later."""
    moved = [[shift_by_step(rows_QN, step) for rows_QN in layer] for layer in weights_LHQN]
    return np.array(moved)

"""Counted n-grams, what a language model has to beat: how often an item follows the few before it.

Smoothed by interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman 1999, Eq. 16), the best
of the counted models. With c a count, D a discount and h' the context h without its first item:

    p(w | h) = max(c(h w) - D, 0) / c(h) + D |{w: c(h w) > 0}| / c(h) * p(w | h')

Below the longest contexts c counts in how many different contexts h w stands, not how often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Items = tuple[int, ...]
USUAL_DISCOUNT = 0.5
"""Where there are too few counts to find one."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The counts of contexts of one length."""

    # Of a context and the item after it.
    counts: Mapping[Items, int]
    # By context: the sum of its counts, and how many different items follow it.
    totals: Mapping[Items, int]
    followers: Mapping[Items, int]
    discount: float


@dataclass(frozen=True, slots=True)
class NGrams:
    """Counts of items after up to `order` - 1 others."""

    vocabulary: int
    start: int
    # The shortest contexts, of no item, first.
    levels: tuple[_Level, ...]

    @property
    def order(self) -> int:
        """Items of the longest n-gram: 1 for items alone, 2 for pairs."""
        return len(self.levels)

    @classmethod
    def count(
        cls, rows: Sequence[Sequence[int]], order: int, vocabulary: int, start: int
    ) -> NGrams:
        """Learn from rows of items.

        Args:
            rows: each with its end symbol.
            order: items of the longest n-gram, 1 or more.
            vocabulary: how many items there are; what was never counted is equally probable.
            start: stands for what is missing before a row's first items; it is not predicted.
        """
        counts: Counter[Items] = Counter()
        for row in rows:
            counts.update(_grams(row, order, start))
        levels = [_level(counts)]
        while len(levels) < order:
            counts = Counter(gram[1:] for gram in counts)
            levels.append(_level(counts))
        return cls(vocabulary, start, tuple(reversed(levels)))

    def probability(self, context: Items, item: int) -> float:
        """Of an item after others, above 0; only the last `order` - 1 of them count."""
        likely = 1.0 / self.vocabulary
        for length, level in enumerate(self.levels):
            before = context[len(context) - length :]
            total = level.totals.get(before, 0)
            if total:
                own = max(level.counts.get((*before, item), 0) - level.discount, 0.0)
                likely = (own + level.discount * level.followers[before] * likely) / total
        return likely

    def nats(self, rows: Sequence[Sequence[int]]) -> float:
        """The negative logarithm of the probability of rows, each with its end symbol."""
        total = 0.0
        for row in rows:
            for gram in _grams(row, self.order, self.start):
                total -= math.log(self.probability(gram[:-1], gram[-1]))
        return total


def _grams(row: Sequence[int], order: int, start: int) -> list[Items]:
    """Every item of a row behind the `order` - 1 before it."""
    padded = (start,) * (order - 1) + tuple(row)
    return [padded[first : first + order] for first in range(len(row))]


def _level(counts: Counter[Items]) -> _Level:
    totals: Counter[Items] = Counter()
    followers: Counter[Items] = Counter()
    for gram, count in counts.items():
        totals[gram[:-1]] += count
        followers[gram[:-1]] += 1
    seen = Counter(counts.values())
    once, twice = seen[1], seen[2]
    discount = once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT
    return _Level(counts, totals, followers, discount)

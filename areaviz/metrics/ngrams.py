"""N-gram language models, the baseline of a neural language model.

They are smoothed by interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman 1999, Eq. 16),
the best of the count-based models. With a count c, a discount D and h' the context h without its
first item:

    p(w | h) = max(c(h w) - D, 0) / c(h) + D |{w: c(h w) > 0}| / c(h) * p(w | h')

Below the longest contexts, c is the number of distinct contexts in which h w occurs, not its
frequency.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Items = tuple[int, ...]
USUAL_DISCOUNT = 0.5
"""Discount if there are too few counts to estimate it."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The counts of n-grams whose contexts have one length."""

    # Count of each context with the item that follows it.
    counts: Mapping[Items, int]
    # By context: the sum of its counts, and the number of distinct items that follow it.
    totals: Mapping[Items, int]
    followers: Mapping[Items, int]
    discount: float


@dataclass(frozen=True, slots=True)
class NGrams:
    """Counts of items after contexts of up to `order` - 1 items."""

    vocabulary: int
    start: int
    # Levels by length of context, the empty context first.
    levels: tuple[_Level, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-gram: 1 for single items, 2 for pairs."""
        return len(self.levels)

    @classmethod
    def count(
        cls, rows: Sequence[Sequence[int]], order: int, vocabulary: int, start: int
    ) -> NGrams:
        """Learn from rows of items.

        Args:
            rows: Rows of items, each with its end symbol.
            order: Length of the longest n-gram, 1 or more.
            vocabulary: Number of distinct items. Unseen items are equally probable.
            start: Symbol that pads the context of a row's first items. It is never predicted.
        """
        counts: Counter[Items] = Counter()
        for row in rows:
            counts.update(_list_ngrams(row, order, start))
        levels = [_make_level(counts)]
        while len(levels) < order:
            counts = Counter(gram[1:] for gram in counts)
            levels.append(_make_level(counts))
        return cls(vocabulary, start, tuple(reversed(levels)))

    def probability(self, context: Items, item: int) -> float:
        """Return the probability of an item after a context, above 0.

        Only the last `order` - 1 items of the context count.
        """
        likely = 1.0 / self.vocabulary
        for length, level in enumerate(self.levels):
            before = context[len(context) - length :]
            total = level.totals.get(before, 0)
            if total:
                own = max(level.counts.get((*before, item), 0) - level.discount, 0.0)
                likely = (own + level.discount * level.followers[before] * likely) / total
        return likely

    def nats(self, rows: Sequence[Sequence[int]]) -> float:
        """Return the negative log-likelihood of rows in nats. Each row includes its end symbol."""
        total = 0.0
        for row in rows:
            for gram in _list_ngrams(row, self.order, self.start):
                total -= math.log(self.probability(gram[:-1], gram[-1]))
        return total


def _list_ngrams(row: Sequence[int], order: int, start: int) -> list[Items]:
    """Return every item of a row with the `order` - 1 items before it."""
    padded = (start,) * (order - 1) + tuple(row)
    return [padded[first : first + order] for first in range(len(row))]


def _make_level(counts: Counter[Items]) -> _Level:
    totals: Counter[Items] = Counter()
    followers: Counter[Items] = Counter()
    for gram, count in counts.items():
        totals[gram[:-1]] += count
        followers[gram[:-1]] += 1
    seen = Counter(counts.values())
    once, twice = seen[1], seen[2]
    discount = once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT
    return _Level(counts, totals, followers, discount)

"""The greedy choice of a set of heads whose mean map has the smallest error.

Shapes: L layers, H heads, Q queries, N items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.metrics.alignment_error_rate import (
    LinkCounts,
    Links,
    count_links,
    find_strongest_links,
)
from areaviz.metrics.word_areas import Array, compute_word_attention
from areaviz.trace.areas import FloatArray, coverage_shares
from areaviz.trace.derived import MOST_HEADS, STEPS, Choice, shift_by_step
from areaviz.trace.query import coverage
from areaviz.trace.record import Field, Trace

GAIN = 0.005
"""Smallest reduction of the error, 0..1, for which one more head is added."""
SITE = "encoder-decoder"
Score = Callable[[Sequence[Choice]], float]
"""Function that returns the error of a set of heads, 0..1."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set of heads, its error, and the error of the best single head at its own step."""

    heads: tuple[Choice, ...]
    error: float
    error_single: float


def choose_heads(layers: int, heads: int, error_of: Score, steps: Sequence[int] = STEPS) -> Chosen:
    """Choose a set of heads greedily.

    Each round adds the head and step that reduce the error most. The choice ends at `MOST_HEADS`
    heads, or if the error falls by less than `GAIN`. Of equal errors, the first one is chosen.

    Args:
        layers: Number of layers.
        heads: Number of heads of each layer.
        error_of: Returns the error of a set.
        steps: The allowed steps of a head, see `STEPS`.
    """
    every = [(lay, head, step) for step in steps for lay in range(layers) for head in range(heads)]
    alone = {one: error_of([one]) for one in every}
    first = min(every, key=lambda one: alone[one])
    chosen, error = [first], alone[first]
    while len(chosen) < MOST_HEADS:
        errors = {one: error_of([*chosen, one]) for one in every if one not in chosen}
        if not errors:
            break
        following = min(errors, key=lambda one: errors[one])
        if error - errors[following] < GAIN:
            break
        chosen.append(following)
        error = errors[following]
    single = min(value for (_, _, step), value in alone.items() if step == 0)
    return Chosen(tuple(chosen), error, single)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedMaps:
    """The coverage of every head over one sentence pair with known links."""

    # float32 [L, H, Q, N]
    coverage: FloatArray
    query: Field
    memory: Field
    sure: Links
    possible: Links

    @classmethod
    def of(cls, trace: Trace, sure: Links, possible: Links, site: str = SITE) -> LinkedMaps:
        """Read the maps of a trace. Links are (source word, target word), counted from 0."""
        attention = trace.maps[site]
        rows = []
        for layer in range(attention.layers):
            rows.append([coverage(attention, layer, head) for head in range(attention.heads)])
        fields = trace.fields[attention.query], trace.fields[attention.memory]
        return cls(np.array(rows, np.float32), *fields, sure, possible)

    def words(self, heads: Sequence[Choice]) -> FloatArray:
        """Return the attention of target words to source words in the mean map of heads."""
        rows = [shift_by_step(self.coverage[layer, head], step) for layer, head, step in heads]
        shares_QN = coverage_shares(np.mean(rows, axis=0, dtype=np.float32))
        return compute_word_attention(shares_QN, self.query, self.memory)

    def counts(self, heads: Sequence[Choice]) -> LinkCounts:
        """Return the counts of the links that the mean map of heads makes."""
        return count_links(find_strongest_links(self.words(heads)), self.sure, self.possible)


def compute_alignment_error(maps: Sequence[LinkedMaps], heads: Sequence[Choice]) -> float:
    """Return the alignment error rate of the mean map of heads over all pairs, 0..1."""
    total = LinkCounts()
    for one in maps:
        total += one.counts(heads)
    return total.error_rate


def count_links_by_position(
    maps: Sequence[LinkedMaps], heads: Sequence[Choice]
) -> list[LinkCounts]:
    """Return the counts of links that follow from the position alone.

    The map of the next pair, which has other words, is stretched to the words of each pair.
    """
    found = []
    for number, one in enumerate(maps):
        own_TS = one.words(heads)
        other_TS = maps[(number + 1) % len(maps)].words(heads)
        stretched = other_TS[np.ix_(*map(_stretch_places, own_TS.shape, other_TS.shape))]
        found.append(count_links(find_strongest_links(stretched), one.sure, one.possible))
    return found


def bootstrap_interval(counts: Sequence[LinkCounts], rounds: int = 1000, seed: int = 1) -> Array:
    """Return the 2.5 and 97.5 % quantiles of the error rate over resampled sentences: [2]."""
    random = np.random.default_rng(seed)
    rates = []
    for _ in range(rounds):
        total = LinkCounts()
        for number in random.integers(len(counts), size=len(counts)):
            total += counts[number]
        rates.append(total.error_rate)
    ends: Array = np.quantile(rates, (0.025, 0.975))
    return ends


def _stretch_places(length: int, other: int) -> list[int]:
    """Return for each of `length` places the place at the same relative position of `other`."""
    return [min(other - 1, int((place + 0.5) * other / length)) for place in range(length)]

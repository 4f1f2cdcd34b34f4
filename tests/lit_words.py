"""Measure how often the highlighted areas of a page contain the right words.

A written word is right if the heaviest area of its mean weights has at most `MOST_WORDS` words and
contains an item of a word that was linked with it by hand. The baseline is an area of equal size
whose middle is at the relative position of the written word.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from areaviz.measures.spans import find_word_runs
from areaviz.trace.record import AttentionMap, Field

MOST_WORDS = 3
"""Largest number of words of an area that can be right."""


@dataclass(frozen=True, slots=True)
class LitWords:
    """Numbers of written words: all with a link, right ones, and right ones of the baseline."""

    words: int
    right: int
    diagonal: int

    @property
    def share(self) -> float:
        """The share of the words that are right, 0..1."""
        return self.right / self.words


def lit_words(
    attention: AttentionMap,
    layer: int,
    head: int,
    query: Field,
    memory: Field,
    links: Set[tuple[int, int]],
) -> LitWords:
    """Count the written words whose heaviest area is right in one head.

    Args:
        attention: The map.
        layer: Layer, from 0.
        head: Head, from 0.
        query: The text that was written.
        memory: The text that is attended to.
        links: Links (word of the memory, word of the query), counted from 0. Words without a link
            are not counted.

    Raises:
        ValueError: There are no links.
    """
    if not links:
        raise ValueError("There are no links. Give at least one.")
    written, read = find_word_runs(query), find_word_runs(memory)
    _, left_A, _, width_A = attention.grid.table().T
    numbers = sorted({j for _, j in links})
    right = diagonal = 0
    for number in numbers:
        start, end = written[number]
        top = int(attention.weights[layer, head, start:end].mean(0).argmax())
        left, width = int(left_A[top]), int(width_A[top])
        wanted = {i for i, j in links if j == number}
        right += _holds(left, width, read, wanted)
        middle = (start + end) / 2 / len(query) * len(memory)
        beside = int(np.clip(round(middle - width / 2), 0, len(memory) - width))
        diagonal += _holds(beside, width, read, wanted)
    return LitWords(len(numbers), right, diagonal)


def _holds(left: int, width: int, runs: list[tuple[int, int]], wanted: Set[int]) -> bool:
    """Return whether an area has few enough words and contains an item of a wanted word."""
    held = {n for n, (start, end) in enumerate(runs) if left < end and start < left + width}
    return len(held) <= MOST_WORDS and not held.isdisjoint(wanted)

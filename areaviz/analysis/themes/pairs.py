"""Pairs of an output and its closest reference, compared word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.analysis.themes.material import Material
from areaviz.analysis.themes.words import lower_words, without_accents


@dataclass(frozen=True, slots=True)
class Matched:
    """A word of a reference, and whether the output has it exactly or except for accents."""

    word: str
    is_found: bool
    is_similar: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """An output and its closest reference.

    Attributes:
        output: the words of the output in lower case.
        reference: the words of the reference, () if the example has none.
        matched: the words of the reference, each matched with at most one word of the output.
        shared: the number of common words. Each counts as often as both texts have it.
        has_same_end: whether both texts end with a punctuation mark, or neither does.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    matched: tuple[Matched, ...]
    shared: int
    has_same_end: bool

    @property
    def missing(self) -> frozenset[str]:
        """Words that the reference has more often than the output."""
        return frozenset(Counter(self.reference) - Counter(self.output))

    @property
    def surplus(self) -> frozenset[str]:
        """Words that the output has more often than the reference, if there is one."""
        return frozenset(Counter(self.output) - Counter(self.reference))


def pair_words(material: Material, system: int) -> tuple[Pair, ...]:
    """Return a system's outputs with the references that share most words with them."""
    outputs = material.written[system].outputs
    return tuple(
        _make_pair(output, references)
        for output, references in zip(outputs, material.references, strict=True)
    )


def _make_pair(output: str, references: Sequence[str]) -> Pair:
    words = tuple(lower_words(output))
    wanted, text = _find_closest_reference(words, references)
    has_same_end = _has_end_mark(output) == _has_end_mark(text)
    matched = _match_words(words, wanted)
    return Pair(words, wanted, matched, sum(one.is_found for one in matched), has_same_end)


def _find_closest_reference(
    output: tuple[str, ...], references: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return the words of the closest reference and its text.

    Of equal ones, the last one is returned.

    The overlap counts each word as often as both texts have it, divided by the longer length.
    """
    found = [(tuple(lower_words(text)), text) for text in references]
    if len(found) < 2:
        return found[0] if found else ((), "")
    counts = Counter(output)

    def measure_overlap(words: tuple[str, ...]) -> float:
        return (counts & Counter(words)).total() / max(1, len(output), len(words))

    return max(found, key=lambda one: (measure_overlap(one[0]), one[1]))


def _match_words(output: tuple[str, ...], reference: tuple[str, ...]) -> tuple[Matched, ...]:
    left = Counter(output)
    missing = set(reference).difference(output)
    similar = set(map(without_accents, output)) if missing else set()
    found = []
    for word in reference:
        is_found = left[word] > 0
        left[word] -= is_found
        is_similar = is_found or without_accents(word) in similar if missing else is_found
        found.append(Matched(word, is_found, is_similar))
    return tuple(found)


def _has_end_mark(text: str) -> bool:
    return not text.rstrip()[-1:].isalnum()

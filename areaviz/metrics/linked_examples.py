"""Examples with known word links, which serve to choose the heads of any model."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Generic, Self, TypeVar

from areaviz.metrics.aligner import make_diagonal_links
from areaviz.metrics.alignment_error_rate import LinkCounts, count_links
from areaviz.metrics.best_heads import (
    LinkedMaps,
    bootstrap_interval,
    compute_alignment_error,
    count_links_by_position,
)
from areaviz.metrics.word_areas import find_word_runs
from areaviz.trace.derived import Choice
from areaviz.trace.errors import InputError, describe_value
from areaviz.trace.record import Trace

WordLinks = Set[tuple[int, int]]
"""Links of an example: (word of the text attended to, word that attends), counted from 0."""


E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class KnownExamples(Generic[E]):
    """Examples for which the right targets of attention are known."""

    examples: Sequence[E]

    def halves(self) -> tuple[Self, Self]:
        """Split the examples into two halves, each with every second example."""
        return type(self)(self.examples[::2]), type(self)(self.examples[1::2])


class LinkedExamples(KnownExamples[LinkedMaps]):
    """Traces from text to text with their links."""

    noun = "links"
    measure = "alignment error"
    place = "the diagonal"

    @classmethod
    def read(cls, examples: Sequence[tuple[Trace, WordLinks]], site: str) -> Self:
        """Read the maps of examples.

        Raises:
            InputError: A map does not join two texts, or a link does not exist.
        """
        return cls([_check_example(number, *one, site) for number, one in enumerate(examples, 1)])

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the alignment error rate of the mean map of heads, 0..1."""
        return compute_alignment_error(self.examples, heads)

    def interval(self, heads: Sequence[Choice]) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the error."""
        low, high = bootstrap_interval([one.counts(heads) for one in self.examples])
        return float(low), float(high)

    def at_place(self) -> float:
        """Return the error of the links on the diagonal."""
        return _compute_error_rate([_count_diagonal_links(one) for one in self.examples])

    def by_position(self, heads: Sequence[Choice]) -> float:
        """Return the error of the links that these heads make in the next example."""
        return _compute_error_rate(count_links_by_position(self.examples, heads))


def _check_example(number: int, trace: Trace, links: WordLinks, site: str) -> LinkedMaps:
    _check_pairs(number, links)
    attention = trace.maps[site]
    fields = trace.fields[attention.memory], trace.fields[attention.query]
    if any(not field.is_text for field in fields):
        raise InputError(
            f"Example {number} does not attend from text to text, but links join words. Give boxes."
        )
    sizes = [len(find_word_runs(field)) for field in fields]
    if any(not (0 <= i < sizes[0] and 0 <= j < sizes[1]) for i, j in links):
        raise InputError(
            f"Example {number} has a link to a word that does not exist. Count words from 0."
        )
    known = frozenset(links)
    return LinkedMaps.of(trace, known, known, site)


def _check_pairs(number: int, links: Any) -> None:
    """Check that links are a collection of pairs of numbers.

    Raises:
        InputError: The links are not a collection, or one of them is not a pair of numbers.
    """
    if isinstance(links, str) or not isinstance(links, Collection):
        raise InputError(
            f"The links of example {number} are {describe_value(links)} but must be pairs of"
            " words. Give a set such as {(0, 0), (1, 2)}."
        )
    for link in links:
        if not (isinstance(link, tuple) and len(link) == 2 and all(map(is_count, link))):
            raise InputError(
                f"Example {number} has the link {describe_value(link)} but a link is a pair of"
                " words. Give their numbers, counted from 0, such as (1, 2)."
            )


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _count_diagonal_links(one: LinkedMaps) -> LinkCounts:
    made = make_diagonal_links(len(find_word_runs(one.memory)), len(find_word_runs(one.query)))
    return count_links(made, one.sure, one.possible)


def _compute_error_rate(counts: Sequence[LinkCounts]) -> float:
    total = LinkCounts()
    for one in counts:
        total += one
    return total.error_rate

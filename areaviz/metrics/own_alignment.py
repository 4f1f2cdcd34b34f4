"""The best alignment of any model: one half of the examples chooses it, the other reports it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

from areaviz.metrics.aer import LinkCounts, count_links
from areaviz.metrics.aligner import diagonal_links
from areaviz.metrics.best_heads import (
    SITE,
    LinkedMaps,
    alignment_error,
    choose_heads,
    interval,
    other_place_counts,
)
from areaviz.metrics.words import word_runs
from areaviz.trace.best import BestAlignment, best_map
from areaviz.trace.errors import InputError
from areaviz.trace.limits import described
from areaviz.trace.record import AttentionMap, Trace

FEWEST = 20
"""Smallest number of examples on which heads are chosen and reported."""
Linked = tuple[Trace, Set[tuple[int, int]]]
"""A trace and its links: (word of the text attended to, word that attends), counted from 0."""


@dataclass(frozen=True, slots=True)
class OwnAlignment:
    """A best alignment, with alignment error rates on examples that did not choose it, 0..1."""

    site: str
    best: BestAlignment
    # Number of examples that report the errors.
    reported_on: int
    # The error of the set, the ends of its 95 % interval, and those of the baselines: the best
    # single head of the choosing half, the diagonal, and the same heads' links in another example.
    error: float
    low: float
    high: float
    single: float
    diagonal: float
    position: float

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f"{self.best.sentence} On {self.reported_on} other examples the alignment error is"
            f" {self.error:.1%} (95 % from {self.low:.1%} to {self.high:.1%}). The best single head"
            f" has {self.single:.1%}, the diagonal {self.diagonal:.1%}, and the position alone"
            f" {self.position:.1%}."
        )

    def map_of(self, trace: Trace) -> AttentionMap:
        """Return the best alignment of a trace of the same model as a map."""
        return best_map(trace.maps[self.site], self.best)


def best_alignment(examples: Sequence[Linked], site: str = SITE) -> OwnAlignment:
    """Choose the heads of a model that together align best with known links.

    Every second example chooses the heads, greedily and at most five, each at its own or at the
    next step. The other examples report the error next to the baselines.

    Args:
        examples: At least 20 traces of one model, such as those of `attend` with a given target,
            each with its links.
        site: The site of the map.

    Raises:
        InputError: There are fewer than 20 examples, an example is not a trace with its links, a
            link does not exist, or a trace lacks the site or has other layers and heads.
    """
    if isinstance(examples, str) or not isinstance(examples, Sequence):
        raise InputError(
            f"The examples are {described(examples)} but must be a list of traces with their"
            " links; give a list such as [(trace, {(0, 0)}), ...]."
        )
    if len(examples) < FEWEST:
        raise InputError(
            f"There are {len(examples)} examples with links, and a choice of heads needs at least"
            f" {FEWEST}; give more, because nothing is chosen on fewer."
        )
    maps = [_checked(number, one, site) for number, one in enumerate(examples, 1)]
    layers, heads = maps[0].coverage.shape[:2]
    if any(one.coverage.shape[:2] != (layers, heads) for one in maps):
        raise InputError("The traces have different layers or heads; give traces of one model.")
    choosing, reporting = maps[::2], maps[1::2]
    error_of = partial(alignment_error, choosing)
    found = choose_heads(layers, heads, error_of)
    singles = [(layer, head, 0) for layer in range(layers) for head in range(heads)]
    single = min(singles, key=lambda one: error_of([one]))
    counts = [one.counts(found.heads) for one in reporting]
    low, high = interval(counts)
    best = BestAlignment(
        found.heads, len(choosing), "examples with links", found.error, found.error_single
    )
    return OwnAlignment(
        site,
        best,
        len(reporting),
        _rate(counts),
        float(low),
        float(high),
        alignment_error(reporting, [single]),
        _rate([_diagonal(one) for one in reporting]),
        _rate(other_place_counts(reporting, found.heads)),
    )


def figures_of(found: OwnAlignment) -> Mapping[str, float]:
    """Return the errors on the reporting half, by what they belong to."""
    return {
        "best alignment": found.error,
        "best single head": found.single,
        "diagonal": found.diagonal,
        "position only": found.position,
    }


def _checked(number: int, one: Linked, site: str) -> LinkedMaps:
    trace, links = _parts(number, one)
    if not isinstance(site, str) or site not in trace.maps:
        raise InputError(f'Example {number} has no attention "{site}"; name one of its sites.')
    attention = trace.maps[site]
    fields = trace.fields[attention.memory], trace.fields[attention.query]
    if any(field.kind != "text" for field in fields):
        raise InputError(f"Example {number} does not attend from text to text; links join words.")
    sizes = [len(word_runs(field)) for field in fields]
    if not links:
        raise InputError(f"Example {number} has no links; leave it out.")
    if any(not (0 <= i < sizes[0] and 0 <= j < sizes[1]) for i, j in links):
        raise InputError(
            f"Example {number} has a link to a word that does not exist; count words from 0."
        )
    known = frozenset(links)
    return LinkedMaps.of(trace, known, known, site)


def _parts(number: int, one: Any) -> Linked:
    """Return the trace and the links of an example.

    Raises:
        InputError: The example is not a trace with a collection of pairs of numbers.
    """
    if not isinstance(one, tuple) or len(one) != 2 or not isinstance(one[0], Trace):
        raise InputError(f"Example {number} is not a trace with its links; give (trace, links).")
    trace, links = one
    if isinstance(links, str) or not isinstance(links, Collection):
        raise InputError(
            f"The links of example {number} are {described(links)} but must be pairs of words;"
            " give a set such as {(0, 0), (1, 2)}."
        )
    for link in links:
        if not (isinstance(link, tuple) and len(link) == 2 and all(map(_is_count, link))):
            raise InputError(
                f"Example {number} has the link {described(link)} but a link is a pair of words;"
                " give their numbers, counted from 0, such as (1, 2)."
            )
    return trace, frozenset(links)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _diagonal(one: LinkedMaps) -> LinkCounts:
    made = diagonal_links(len(word_runs(one.memory)), len(word_runs(one.query)))
    return count_links(made, one.sure, one.possible)


def _rate(counts: Sequence[LinkCounts]) -> float:
    total = LinkCounts()
    for one in counts:
        total += one
    return total.error_rate

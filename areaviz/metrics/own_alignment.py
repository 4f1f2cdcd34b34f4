"""The best alignment of any model.

One half of the examples chooses it, and the other reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from areaviz.metrics.best_heads import SITE, choose_heads
from areaviz.metrics.boxed_examples import BoxedExamples, Boxes
from areaviz.metrics.linked_examples import LinkedExamples, WordLinks
from areaviz.trace.derived import BestAlignment, make_best_map
from areaviz.trace.errors import InputError, describe_value
from areaviz.trace.record import AttentionMap, Trace

FEWEST = 20
"""Smallest number of examples, including both halves."""
Linked = tuple[Trace, WordLinks | Boxes]
"""A trace with its links, or with boxes by query."""


@dataclass(frozen=True, slots=True)
class OwnAlignment:
    """A best alignment with its errors, 0..1, on examples that were not used to choose it.

    With links, the error is the alignment error rate. With boxes, it is the share of queries whose
    heaviest item is in no box.
    """

    site: str
    best: BestAlignment
    # Number of examples that report the errors, and the name of the error.
    reported_on: int
    measure: str
    # The error of the chosen heads, the ends of its 95 % interval, and the errors of three
    # baselines: `single` is the best single head of the choosing half. `at_place` is the diagonal
    # or the middle of the memory, as named in `place`. `position` uses the places of the chosen
    # heads in another example.
    error: float
    low: float
    high: float
    single: float
    place: str
    at_place: float
    position: float

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f"{self.best.sentence} On {self.reported_on} other examples the {self.measure} is"
            f" {self.error:.1%} (95 % from {self.low:.1%} to {self.high:.1%}). The best single head"
            f" has {self.single:.1%}, {self.place} {self.at_place:.1%}, and the position alone"
            f" {self.position:.1%}."
        )

    def map_of(self, trace: Trace) -> AttentionMap:
        """Return the best alignment of a trace of the same model as a map."""
        return make_best_map(trace.maps[self.site], self.best)


def best_alignment(examples: Sequence[Linked], site: str = SITE) -> OwnAlignment:
    """Choose the heads of a model that together align best with known links or boxes.

    Every second example is used to choose at most five heads, greedily. Each head is read at its
    own step or at the next one. The other examples are used to report the error and the baselines.

    Args:
        examples: At least 20 traces of one model, such as those of `attend` with a given target.
            Each trace comes with its links or its boxes. Links are a set of (word attended to, word
            that attends). Boxes are the rectangles of each query, such as {2: [(0.1, 0.2, 0.5,
            0.9)]}, with left, top, right and bottom as shares of the memory. Words and queries
            count from 0.
        site: The site of the map.

    Raises:
        InputError: There are fewer than 20 examples, an example is not a trace with its links or
            boxes, a link or box does not exist, a trace lacks the site, or the traces differ in
            layers or heads.
    """
    known = _read_examples(examples, site)
    shapes = {trace.maps[site].weights.shape[:2] for trace, _ in examples}
    if len(shapes) > 1:
        raise InputError("The traces have different layers or heads. Give traces of one model.")
    layers, heads = shapes.pop()
    choosing, reporting = known.halves()
    found = choose_heads(layers, heads, choosing.error)
    singles = [(layer, head, 0) for layer in range(layers) for head in range(heads)]
    single = min(singles, key=lambda one: choosing.error([one]))
    low, high = reporting.interval(found.heads)
    chosen = (len(examples) + 1) // 2
    best = BestAlignment(
        found.heads, chosen, f"examples with {known.noun}", found.error, found.error_single
    )
    return OwnAlignment(
        site,
        best,
        reported_on=len(examples) - chosen,
        measure=known.measure,
        error=reporting.error(found.heads),
        low=low,
        high=high,
        single=reporting.error([single]),
        place=known.place,
        at_place=reporting.at_place(),
        position=reporting.by_position(found.heads),
    )


def collect_errors(found: OwnAlignment) -> Mapping[str, float]:
    """Return the errors on the reporting half, by the name of the alignment or baseline."""
    return {
        "best alignment": found.error,
        "best single head": found.single,
        found.place.removeprefix("the "): found.at_place,
        "position only": found.position,
    }


def _read_examples(examples: Sequence[Linked], site: str) -> LinkedExamples | BoxedExamples:
    """Read examples that have either links or boxes.

    Raises:
        InputError: There are too few examples, or one of them lacks the site or its links or boxes.
    """
    if isinstance(examples, str) or not isinstance(examples, Sequence):
        raise InputError(
            f"The examples are {describe_value(examples)} but must be a list of traces with their"
            " links or boxes. Give a list such as [(trace, {(0, 0)}), ...]."
        )
    if len(examples) < FEWEST:
        raise InputError(
            f"There are {len(examples)} examples with links or boxes, and a choice of heads"
            f" needs at least {FEWEST}. Give more, because nothing is chosen on fewer."
        )
    for number, one in enumerate(examples, 1):
        if not isinstance(one, tuple) or len(one) != 2 or not isinstance(one[0], Trace):
            raise InputError(
                f"Example {number} is not a trace with its links or boxes. Give (trace, links)."
            )
        trace, marks = one
        if not isinstance(site, str) or site not in trace.maps:
            raise InputError(f'Example {number} has no attention "{site}". Give one of its sites.')
        if not marks:
            raise InputError(f"Example {number} has no links or boxes. Leave it out.")
    boxed = [isinstance(marks, Mapping) for _, marks in examples]
    if all(boxed):
        return BoxedExamples.read(cast(Sequence[tuple[Trace, Boxes]], examples), site)
    if any(boxed):
        raise InputError("Some examples have links and others boxes. Give one kind.")
    return LinkedExamples.read(cast(Sequence[tuple[Trace, WordLinks]], examples), site)

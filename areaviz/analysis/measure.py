"""What a measure of examples is: ours get their values in groups, another package's by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from areaviz.data.examples import Example
from areaviz.trace.record import Trace


@dataclass(frozen=True, slots=True)
class Measure:
    """How a measure is presented.

    Args:
        title: its name on pages.
        about: what it is, one sentence.
        better: "high", "low", or "" where neither is better.
    """

    title: str
    about: str
    better: str


@dataclass(frozen=True, slots=True)
class OwnMeasure(Measure):
    """A measure that another package brings along, with what gives its value.

    Args:
        value: of one example's trace, None where the measure does not apply.
    """

    value: Callable[[Trace, Example], float | None]


def measure_problem(thing: object) -> str:
    """What is wrong with a measure of another package; "" for nothing."""
    if not isinstance(thing, OwnMeasure):
        return "is no OwnMeasure"
    if thing.better not in ("high", "low", ""):
        return 'is better neither "high" nor "low" nor ""'
    return ""

"""Definition of a metric. areaviz computes its own in groups, and those of plug-ins one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from areaviz.samples.dataset import Example
from areaviz.trace.record import Trace


@dataclass(frozen=True, slots=True)
class Measure:
    """Description of a metric.

    Args:
        title: the displayed name.
        about: an explanation in one sentence.
        better: "high", "low", or "" if neither is better.
    """

    title: str
    about: str
    better: str


@dataclass(frozen=True, slots=True)
class OwnMeasure(Measure):
    """A metric that another package provides, with the function that computes it.

    Args:
        value: returns the metric for one example's trace, or None if the metric does not apply.
    """

    value: Callable[[Trace, Example], float | None]


def measure_problem(thing: object) -> str:
    """Return what is wrong with another package's metric, "" if it is valid."""
    if not isinstance(thing, OwnMeasure):
        return "is no OwnMeasure"
    if thing.better not in ("high", "low", ""):
        return 'is better neither "high" nor "low" nor ""'
    return ""

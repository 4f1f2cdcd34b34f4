"""A measure of examples: the share of output words in the reverse order of the source."""

from __future__ import annotations

from areaviz.samples.dataset import Example
from areaviz.sets.measures import OwnMeasure
from areaviz.trace.record import Trace


def backwards(trace: Trace, example: Example) -> float | None:
    """Return the share of output words at their place in reverse order, or None without words."""
    wanted = example.text.split()[::-1]
    written = trace.fields[trace.output.field].raw.split()
    if not wanted:
        return None
    pairs = zip(wanted, written, strict=False)
    return sum(one == other for one, other in pairs) / len(wanted)


BACKWARDS = OwnMeasure(
    "Read backwards", "Share of words that stand where reading backwards puts them.", "", backwards
)

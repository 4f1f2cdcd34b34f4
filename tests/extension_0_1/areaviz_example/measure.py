"""A measure of examples: how many output words stand in the source's order backwards."""

from __future__ import annotations

from areaviz.analysis.measure import OwnMeasure
from areaviz.data.examples import Example

from areaviz.trace.record import Trace


def backwards(trace: Trace, example: Example) -> float | None:
    """The share of output words that stand where reading backwards puts them; None for no words."""
    wanted = example.text.split()[::-1]
    written = trace.fields[trace.output.field].raw.split()
    if not wanted:
        return None
    pairs = zip(wanted, written, strict=False)
    return sum(one == other for one, other in pairs) / len(wanted)


BACKWARDS = OwnMeasure(
    "Read backwards", "Share of words that stand where reading backwards puts them.", "", backwards
)

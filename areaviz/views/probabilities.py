"""Output probabilities: how sure the model was of every item it produced, and what it would have
said instead.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import probability_bars
from areaviz.drawing.base import Table, View, model_words
from areaviz.drawing.labels import for_screen, visible
from areaviz.drawing.probability_bars import ProbabilityBars
from areaviz.drawing.select import name
from areaviz.trace.record import Field, Output, Trace
from areaviz.trace.request import Focus

_TITLE = "Probability of every produced item"
_LEGEND = "bars: the item produced; rings: the likeliest other item"
_HEIGHT = 200  # px
_TOLD = 5
"""Alternatives that pointing tells."""


def certainty(trace: Trace) -> ProbabilityBars:
    """The numbers drawn: bars of the items produced, rings of the likeliest other ones."""
    output, field = trace.output, trace.fields[trace.output.field]
    other_T = np.array([_runner_up(output, field, t) for t in range(len(field))], dtype=np.float32)
    caption, across = _caption(trace, field), f"{name(field)} items"
    return ProbabilityBars.of(
        field, output.probabilities, other_T, _TITLE, _LEGEND, caption, across
    )


def _caption(trace: Trace, field: Field) -> str:
    """Without a history the items are no text written one after the other, but what was made of
    each look.
    """
    request = trace.request
    if "history" not in trace.fields:
        return (
            f"{request.model} · probability of each {name(field)} item, given what was seen until"
            " then"
        )
    return (
        f"{model_words(trace)} · probability of each {name(field)} item given the items before it"
    )


def _runner_up(output: Output, field: Field, t: int) -> float:
    """Probability of the likeliest alternative that is not what was produced."""
    return max((p for label, p in output.alternatives[t] if label != field.labels[t]), default=0.0)


def figure(trace: Trace, focus: Focus) -> Figure:
    """A bar for every produced item, a ring at the likeliest other; alternatives on pointing."""
    drawn = certainty(trace)
    produced = [f"produced at {p:.1%}" for p in drawn.bars.tolist()]
    if drawn.block == 1:
        others = [
            [f"{p:.1%} {for_screen(o)}" for o, p in best[:_TOLD]]
            for best in trace.output.alternatives
        ]
        produced = ["<br>".join([*best, own]) for best, own in zip(others, produced, strict=True)]
    return probability_bars.figure(drawn, produced, _HEIGHT)


def table(trace: Trace, focus: Focus) -> Table:
    """One line a produced item: its probability and its alternatives, best first."""
    output, field = trace.output, trace.fields[trace.output.field]
    most = max((len(options) for options in output.alternatives), default=0)
    columns = tuple(
        f"{what} {k + 1}"
        for k in range(most)
        for what in ("alternative", "probability of alternative")
    )
    lines: list[tuple[str | int | float, ...]] = []
    for t, (label, p, options) in enumerate(
        zip(field.labels, output.probabilities, output.alternatives, strict=True)
    ):
        cells = [cell for other, q in options for cell in (visible(other), float(q))]
        lines.append((t + 1, visible(label), float(p), *cells, *[""] * (2 * most - len(cells))))
    return Table(("position", "item", "probability", *columns), lines)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    return probability_bars.paper(certainty(trace))


def _fits(trace: Trace, focus: Focus) -> bool:
    """Whatever is focused, an output has probabilities."""
    return len(trace.output.probabilities) > 0


VIEW = View(
    name="probabilities",
    title="Output probabilities",
    question="How sure was the model, and what would it have said instead?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)

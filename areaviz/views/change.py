"""What a change did to an output: the probability of every item of one and the same output, before
and after.
"""

from __future__ import annotations

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import probability_bars
from areaviz.drawing.base import Table, View, changes_words
from areaviz.drawing.labels import visible
from areaviz.drawing.probability_bars import ProbabilityBars
from areaviz.drawing.select import name
from areaviz.trace.record import Trace

_LEGEND = "rings: before the change; bars: after it"
_TITLE = "Probability of the original output, item by item"
_HEIGHT = 170  # px


def fits(before: Trace, after: Trace) -> bool:
    """Whether the second has read the whole output of the first; it may have an end that the first
    did not come to.
    """
    one, two = (trace.fields[trace.output.field].labels for trace in (before, after))
    return bool(one) and one == two[: len(one)]


def against(before: Trace) -> View:
    """The view of a changed run over the output of `before`."""
    return View(
        name="change",
        title="Change of probability",
        question="What does the changed model think of the original output?",
        fits=lambda after, focus: fits(before, after),
        figure=lambda after, focus: figure(before, after),
        table=lambda after, focus: table(before, after),
        print=lambda after, focus: paper(before, after),
    )


def shift(before: Trace, after: Trace) -> ProbabilityBars:
    """The numbers drawn: bars after the change, rings before it."""
    field = before.fields[before.output.field]
    one_T, two_T = (trace.output.probabilities[: len(field)] for trace in (before, after))
    caption = (
        f"{after.request.model}{changes_words(after.request)} · probability of each {name(field)}"
        " item"
    )
    return ProbabilityBars.of(field, two_T, one_T, _TITLE, _LEGEND, caption, "original output")


def figure(before: Trace, after: Trace) -> Figure:
    """A bar for every item after the change, a ring where it was before."""
    drawn = shift(before, after)
    both = zip(drawn.rings.tolist(), drawn.bars.tolist(), strict=True)
    return probability_bars.figure(
        drawn, [f"before {one:.1%}, after {two:.1%}" for one, two in both], _HEIGHT
    )


def table(before: Trace, after: Trace) -> Table:
    """One line an item: its probability before and after, and the difference."""
    labels = before.fields[before.output.field].labels
    after_T = after.output.probabilities[: len(labels)]
    pairs = zip(labels, before.output.probabilities.tolist(), after_T.tolist(), strict=True)
    lines = [
        (t, visible(label), one, two, two - one) for t, (label, one, two) in enumerate(pairs, 1)
    ]
    return Table(("position", "item", "before", "after", "change"), lines)


def paper(before: Trace, after: Trace) -> PrintFigure:
    """The same picture for paper."""
    return probability_bars.paper(shift(before, after))

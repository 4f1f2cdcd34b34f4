"""How sure a model is of each label after each look: a heat table of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import gazes, matrix, theme
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import clip, visible
from areaviz.drawing.matrix import Matrix
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

_WRITTEN = 160
"""A table with more cells than this has no numbers in them."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """names: in rising order, numbers as numbers. likely: float32 [names, steps], NaN where a label
    is not listed.
    """

    names: tuple[str, ...]
    likely: FloatArray


def label_probabilities(trace: Trace) -> Labels:
    """Every label that is ever produced or among the alternatives, and its probability after each
    look.
    """
    output = trace.output
    produced = zip(trace.fields[output.field].labels, output.probabilities, strict=True)
    listed = [
        {label: float(p), **dict(options)}
        for (label, p), options in zip(produced, output.alternatives, strict=True)
    ]
    names = sorted({name for options in listed for name in options}, key=_rank)
    rows = [[options.get(name, np.nan) for options in listed] for name in names]
    return Labels(tuple(names), np.array(rows, dtype=np.float32))


def _rank(name: str) -> tuple[int, float, str]:
    return (0, float(name), name) if name.isdecimal() else (1, 0, name)


def heat(trace: Trace, focus: Focus) -> Matrix:
    """The probabilities as a matrix, focused steps outlined."""
    found = label_probabilities(trace)
    return Matrix(
        values=found.likely,
        rows=tuple(clip(visible(name)) for name in found.names),
        columns=tuple(str(step + 1) for step in range(found.likely.shape[1])),
        row_title="label",
        column_title="glimpse" if focus.site == gazes.GLIMPSES else "step",
        title=f"Probability of each label after each {_look(focus)}",
        note="a column holds the likeliest labels; what is blank was not among them",
        caption=caption(trace, focus),
        unit="probability",
        top=1.0,
        marked_columns=tuple(sorted(set(focus.items))) if focus.site == gazes.GLIMPSES else (),
    )


def _look(focus: Focus) -> str:
    return "glimpse" if focus.site == gazes.GLIMPSES else "step"


def figure(trace: Trace, focus: Focus) -> Figure:
    """Rows are labels, columns glimpses; the numbers stand in the cells."""
    drawn = heat(trace, focus)
    result = matrix.draw(drawn)
    places = list(_written(drawn))
    colours = [_ink(share) for _, _, share in places]
    result.add_trace(
        Scatter(
            x=[column for _, column, _ in places],
            y=[row for row, _, _ in places],
            mode="text",
            text=[f"{share:.0%}" for _, _, share in places],
            textfont={"color": colours, "size": theme.SCREEN_FONT},
            hoverinfo="skip",
        )
    )
    return result


def _written(drawn: Matrix) -> list[tuple[int, int, float]]:
    """Row, column and value of every cell that gets a number."""
    if drawn.values.size > _WRITTEN or drawn.values.shape[1] > 16:
        return []
    return [(r, c, float(v)) for (r, c), v in np.ndenumerate(drawn.values) if not np.isnan(v)]


def _ink(share: float) -> str:
    return gazes.ink_on("#{:02x}{:02x}{:02x}".format(*theme.SEQUENCE(share, bytes=True)[:3]))


def table(trace: Trace, focus: Focus) -> Table:
    """One line a label, one column a glimpse; what is not listed is left empty."""
    found = label_probabilities(trace)
    columns = (f"{_look(focus)} {step + 1}" for step in range(found.likely.shape[1]))
    rows: list[tuple[str | int | float, ...]] = [
        (visible(name), *map(float, line))
        for name, line in zip(found.names, found.likely, strict=True)
    ]
    return Table(("label", *columns), rows)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = heat(trace, focus)
    result = matrix.draw_print(drawn)
    for row, column, share in _written(drawn):
        style: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": 6.5,
            "color": _ink(share),
        }
        result.axes[0].text(column, row, f"{share:.0%}", **style)
    return theme.finish(result)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Whether the output has a label for each look."""
    if not (gazes.steps_fit(trace, focus) or gazes.sampling_fits(trace, focus)):
        return False
    return trace.gazes[focus.site].query == trace.output.field


VIEW = View(
    name="labels",
    title="Labels",
    question="How did the model's mind change with each glimpse?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)

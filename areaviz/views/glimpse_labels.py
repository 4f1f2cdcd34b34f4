"""Heat map of the probability of each label after each glimpse."""

from __future__ import annotations

import numpy as np

from areaviz.draw.labels import show_invisibles
from areaviz.draw.marks import Mark, Plot, Texts
from areaviz.draw.matrix import Matrix, plot_matrix
from areaviz.draw.theme import SCREEN_FONT, colour_at
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.drawing.gaze_steps import GLIMPSES, choose_ink, fits_glimpses, fits_transformer
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


def label_probabilities(trace: Trace) -> tuple[list[str], FloatArray]:
    """Return the labels that were produced or are alternatives, with their probabilities.

    Returns:
        The labels in rising order, with numbers sorted as numbers, and their probabilities, float32
        [labels, steps]. NaN means that a label is not among the alternatives of a step.
    """
    output = trace.output
    listed = []
    for label, likely, others in zip(
        trace.fields[output.field].labels,
        output.probabilities.tolist(),
        output.alternatives,
        strict=True,
    ):
        listed.append({label: likely} | dict(others))
    names = sorted(set().union(*listed), key=_rank)
    rows = [[options.get(name, np.nan) for options in listed] for name in names]
    return names, np.array(rows, dtype=np.float32)


def _rank(name: str) -> tuple[int, float, str]:
    return (0, float(name), name) if name.isdecimal() else (1, 0, name)


def label_matrix(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of probabilities with focused steps outlined."""
    names, likely = label_probabilities(trace)
    is_glimpse = focus.site == GLIMPSES
    look = "glimpse" if is_glimpse else "step"
    return Matrix(
        title=f"Probability of each label after each {look}",
        note="a column has the likeliest labels only; cells of other labels are blank",
        caption=figure_caption(trace, focus),
        values=likely,
        rows=tuple(map(show_invisibles, names)),
        columns=tuple(str(step + 1) for step in range(likely.shape[1])),
        row_title="label",
        column_title=look,
        unit="probability",
        top=1.0,
        marked_columns=tuple(sorted(set(focus.items))) if is_glimpse else (),
    )


def _make_numbers(drawn: Matrix) -> list[Mark]:
    """Return every cell's number, unless there are too many."""
    if drawn.values.size > 160 or drawn.values.shape[1] > 16:
        return []
    x, y, texts, inks = [], [], [], []
    for (row, column), share in np.ndenumerate(drawn.values):
        if not np.isnan(share):
            x.append(column)
            y.append(row)
            texts.append(f"{share:.0%}")
            inks.append(choose_ink(colour_at(float(share))))
    return [
        Texts(
            x,
            y,
            texts,
            size=(SCREEN_FONT, 6.5),
            colours=inks,
        )
    ]


def plot(drawn: Matrix) -> Plot:
    """Draw labels as rows and glimpses as columns, with the percentage in each cell."""
    return plot_matrix(drawn, _make_numbers(drawn))


def tabulate(drawn: Matrix) -> Table:
    """Tabulate one row per label and one column per glimpse. Cells of unlisted labels are NaN."""
    rows = []
    for name, values in zip(drawn.rows, drawn.values.tolist(), strict=True):
        rows.append((name, *values))
    return Table(("label", *(f"{drawn.column_title} {step}" for step in drawn.columns)), rows)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the output has one label per glimpse."""
    if not (fits_glimpses(trace, focus) or fits_transformer(trace, focus)):
        return False
    return trace.gazes[focus.site].query == trace.output.field


VIEW = view_of_marks(
    "labels",
    "Labels",
    "How did the prediction change with each glimpse?",
    _fits,
    label_matrix,
    plot,
    tabulate,
    how_to_read=(
        "Columns are glimpses, rows are labels. Brighter cells mean a higher probability"
        " after that glimpse."
    ),
)

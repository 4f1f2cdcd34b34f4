"""The coverage strip: how much attention every memory item receives from each head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import matrix
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.matrix import Matrix
from areaviz.drawing.select import fits_text, name, select, shown
from areaviz.drawing.theme import nice_top
from areaviz.trace import query
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


def strip(trace: Trace, focus: Focus) -> Matrix:
    """Coverage [H, N] of the focused queries (their mean; all queries where none is focused), every
    head.
    """
    chosen = select(trace, focus)
    heads = range(chosen.attention.heads)
    queries = list(chosen.queries)
    rows = [query.coverage(chosen.attention, chosen.layer, head)[queries].mean(0) for head in heads]
    values = np.stack(rows)
    return Matrix(
        values=values,
        rows=tuple(f"head {head + 1}" for head in heads),
        columns=shown(chosen.memory),
        row_title="",
        column_title=f"{name(chosen.memory)} items",
        title=f"{chosen.subject}: coverage by head",
        note=(
            "coverage: attention on the areas that hold the item; a row sums to the mean area size,"
            " not to 100%"
        ),
        caption=caption(trace, replace(focus, head=None)),
        unit="coverage",
        top=min(1.0, nice_top(float(values.max()))),
        marked_rows=() if focus.head is None else (focus.head,),
        marked_columns=focus.items if focus.side == "memory" else (),
    )


def figure(trace: Trace, focus: Focus) -> Figure:
    """Rows are heads, columns memory items."""
    return matrix.draw(strip(trace, focus))


def table(trace: Trace, focus: Focus) -> Table:
    """One line a head, one column a memory item."""
    return matrix.tabulate(strip(trace, focus))


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    return matrix.draw_print(strip(trace, focus))


VIEW = View(
    name="coverage",
    title="Coverage strip",
    question="How much of each head's attention does every item receive?",
    fits=fits_text,
    figure=figure,
    table=table,
    print=paper,
)

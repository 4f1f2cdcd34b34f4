"""A view: how much of every query's attention goes to the first and to the last item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from areaviz.drawing.base import Table, caption, view
from areaviz.drawing.theme import Drawing, axis, print_figure, screen_figure
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Bar, Figure

from areaviz import Focus, Trace, item_shares


@dataclass(frozen=True, slots=True, eq=False)
class Ends(Drawing):
    """What is drawn: a pair of bars a query."""

    labels: tuple[str, ...]
    first: npt.NDArray[Any]
    last: npt.NDArray[Any]


def fits(trace: Trace, focus: Focus) -> bool:
    """Every map of a text."""
    found = trace.maps.get(focus.site)
    return found is not None and trace.fields[found.memory].kind == "text"


def find(trace: Trace, focus: Focus) -> Ends:
    """The shares of the first and the last item at a layer and head."""
    attention = trace.maps[focus.site]
    shares = item_shares(attention, focus.layer, focus.head)
    return Ends(
        title="Share of the first and the last item",
        note="of the attention of every query",
        caption=caption(trace, focus),
        labels=trace.fields[attention.query].labels,
        first=shares[:, 0],
        last=shares[:, -1],
    )


def figure(drawn: Ends) -> Figure:
    """For the screen."""
    places = list(range(len(drawn.labels)))
    across = axis("query", tickvals=places, ticktext=list(drawn.labels))
    picture = screen_figure(drawn, 240, across=across, down=axis("share", tickformat=".0%"))
    for name, values in (("first item", drawn.first), ("last item", drawn.last)):
        picture.add_trace(Bar(x=places, y=values, name=name))
    return picture


def paper(drawn: Ends) -> PrintFigure:
    """For print."""
    picture, axes = print_figure(drawn, 2.4)
    places = range(len(drawn.labels))
    axes.bar([place - 0.2 for place in places], drawn.first, 0.4, label="first item")
    axes.bar([place + 0.2 for place in places], drawn.last, 0.4, label="last item")
    axes.set_xticks(list(places), list(drawn.labels))
    axes.legend()
    return picture


def table(drawn: Ends) -> Table:
    """Its numbers."""
    rows = zip(drawn.labels, drawn.first.tolist(), drawn.last.tolist(), strict=True)
    return Table(("query", "first", "last"), list(rows))


VIEW = view(
    "first-and-last",
    "First and last",
    "How much attention do the first and the last item get?",
    fits,
    find,
    figure,
    table,
    paper,
    how_to_read="Two bars a query: the share of the first item, and that of the last.",
)

"""Bipartite lines: who attends to whom, the width of a line its share of the attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import theme
from areaviz.drawing.axes import depth, print_labels, print_ticks, screen_labels, screen_ticks
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import Ticks, for_screen, visible
from areaviz.drawing.select import Selection, fits_text, name, positions, quote, select, shown
from areaviz.trace import query
from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.trace.request import Focus

MOST = 150
"""How many lines are drawn at most."""
_WIDEST_PX, _WIDEST_PT = 9.0, 6.0
_STEPS = np.linspace(0, 1, 25)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: 0-based head, query and memory item, and the share of the query's attention it
    stands for.
    """

    head: int
    query: int
    item: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines, strongest first, and the share the widest one stands for."""

    chosen: Selection
    lines: tuple[Line, ...]
    widest: float
    title: str
    note: str


def lines(trace: Trace, focus: Focus) -> Lines:
    """The strongest lines of the focused items, or of all items where none is focused."""
    chosen = select(trace, focus)
    found: list[Line] = []
    for head in chosen.heads:
        shares_QN = query.item_shares(chosen.attention, chosen.layer, head)
        found += _strongest(head, np.where(_mask(shares_QN.shape, focus), shares_QN, 0))
    kept = tuple(sorted(found, key=lambda line: -line.share)[:MOST])
    widest = min(1.0, theme.nice_top(kept[0].share)) if kept else 1.0
    heads = "every head in its colour" if len(chosen.heads) > 1 else chosen.head_words
    title = f"{_subject(chosen, focus)}, {heads}"
    note = f"{len(kept)} strongest lines; width: share of the {name(chosen.query)} item's attention"
    return Lines(
        chosen, kept, widest, title, f"{note} (full width: {widest:.{theme.decimals(widest)}%})"
    )


def _subject(chosen: Selection, focus: Focus) -> str:
    if focus.items and focus.side == "memory":
        items = sorted(set(focus.items))
        return f"Lines to {name(chosen.memory)} {positions(items)} {quote(chosen.memory, items)}"
    return (
        f"Lines from {chosen.subject[0].lower()}{chosen.subject[1:]}"
        if chosen.focused
        else "Strongest lines"
    )


def _mask(shape: tuple[int, ...], focus: Focus) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which pairs of query and item may be drawn."""
    mask = np.full(shape, not focus.items)
    if focus.items:
        mask[
            (
                (list(focus.items), slice(None))
                if focus.side == "query"
                else (slice(None), list(focus.items))
            )
        ] = True
    return mask


def _strongest(head: int, shares_QN: FloatArray) -> list[Line]:
    """The at most MOST largest positive entries of one head."""
    flat = shares_QN.ravel()
    order = np.argpartition(-flat, MOST)[:MOST] if flat.size > MOST else np.arange(flat.size)
    pairs = zip(*np.unravel_index(order, shares_QN.shape), strict=True)
    return [
        Line(head, int(q), int(n), float(shares_QN[q, n])) for q, n in pairs if shares_QN[q, n] > 0
    ]


def path(line: Line, queries: int, items: int) -> tuple[FloatArray, FloatArray]:
    """The curve of a line from its memory item (above, y = 1) to its query (below, y = 0): x and y,
    float32 [25].
    """
    top, bottom = (line.item + 0.5) / items, (line.query + 0.5) / queries
    ease = 3 * _STEPS**2 - 2 * _STEPS**3
    return (top + (bottom - top) * ease).astype(np.float32), (1 - _STEPS).astype(np.float32)


def figure(trace: Trace, focus: Focus) -> Figure:
    """What is attended to stands above, what attends below."""
    drawn = lines(trace, focus)
    chosen, several = drawn.chosen, len(drawn.chosen.heads) > 1
    above, below = (screen_labels(shown(field)) for field in (chosen.memory, chosen.query))
    picture = theme.screen(
        drawn.title,
        drawn.note,
        caption(trace, focus),
        250,
        above=depth(above) + 30,
        below=depth(below) + 30 + 28 * several,
        across=_axis(chosen.query, below),
        down={"visible": False, "range": [0, 1], "fixedrange": True},
        xaxis2=_axis(chosen.memory, above) | {"side": "top", "overlaying": "x"},
        showlegend=several,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "itemclick": False,
        },
    )
    picture.add_traces([_curve(drawn, line) for line in reversed(drawn.lines)])
    return picture.add_traces(
        [*map(_key, chosen.heads), Scatter(x=[None], y=[None], xaxis="x2", showlegend=False)]
    )


def _axis(field: Field, chosen: Ticks) -> theme.Layout:
    return theme.axis(f"{name(field)} items", range=[0, 1], **screen_ticks(_placed(field, chosen)))


def _placed(field: Field, chosen: Ticks) -> Ticks:
    """Both fields take the whole width, whatever their lengths."""
    return replace(chosen, positions=tuple((i + 0.5) / len(field) for i in chosen.positions))


def _key(head: int) -> Scatter:
    line = {"color": theme.head_colour(head), "width": 4}
    return Scatter(x=[None], y=[None], mode="lines", line=line, name=f"head {head + 1}")


def _curve(drawn: Lines, line: Line) -> Scatter:
    chosen = drawn.chosen
    x, y = path(line, len(chosen.query), len(chosen.memory))
    labels = (
        f"{for_screen(chosen.query.labels[line.query])} →"
        f" {for_screen(chosen.memory.labels[line.item])}"
    )
    places = f"item {line.query + 1} → item {line.item + 1}, head {line.head + 1}"
    return Scatter(
        x=x,
        y=y,
        mode="lines",
        line={
            "color": theme.head_colour(line.head),
            "width": round(_WIDEST_PX * line.share / drawn.widest, 2),
        },
        opacity=0.7,
        showlegend=False,
        text=f"{labels}<br>{places}<br>{line.share:.1%}",
        hovertemplate="%{text}<extra></extra>",
    )


def table(trace: Trace, focus: Focus) -> Table:
    """One line a line, strongest first."""
    drawn = lines(trace, focus)
    query_labels, memory_labels = drawn.chosen.query.labels, drawn.chosen.memory.labels
    columns = ("head", "query position", "query", "memory position", "memory", "share")
    cells = [
        (
            line.head + 1,
            line.query + 1,
            visible(query_labels[line.query]),
            line.item + 1,
            visible(memory_labels[line.item]),
            line.share,
        )
        for line in drawn.lines
    ]
    return Table(columns, cells)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = lines(trace, focus)
    chosen = drawn.chosen
    result, axes = theme.paper(drawn.title, drawn.note, caption(trace, focus), 2.6)
    ordered = drawn.lines[::-1]
    curves = [
        np.column_stack(path(line, len(chosen.query), len(chosen.memory))) for line in ordered
    ]
    widths = [_WIDEST_PT * line.share / drawn.widest for line in ordered]
    colours = [theme.head_colour(line.head) for line in ordered]
    axes.add_collection(LineCollection(curves, linewidths=widths, colors=colours, alpha=0.7))
    axes.set(xlim=(0, 1), ylim=(0, 1), yticks=[], xlabel="")
    _print_axis(axes, chosen.query)
    upper = axes.twiny()
    upper.set_xlim(0, 1)
    upper.spines[:].set_visible(False)
    upper.tick_params(length=0, pad=3, labelsize=theme.PRINT_FONT)
    _print_axis(upper, chosen.memory, top=True)
    if len(chosen.heads) > 1:
        keys = [
            Line2D([], [], color=theme.head_colour(head), label=f"head {head + 1}")
            for head in chosen.heads
        ]
        place: dict[str, Any] = {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, -0.13),
            "ncols": 8,
            "frameon": False,
        }
        axes.legend(handles=keys, fontsize=theme.PRINT_FONT, **place)
    return theme.finish(result)


def _print_axis(axes: Axes, field: Field, top: bool = False) -> None:
    print_ticks(axes, _placed(field, print_labels(shown(field))), top)
    axes.set_xlabel(f"{name(field)} items", fontsize=8)


VIEW = View(
    name="lines",
    title="Lines",
    question="Which item is tied to which, and how strongly?",
    fits=fits_text,
    figure=figure,
    table=table,
    print=paper,
)

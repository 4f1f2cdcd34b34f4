"""Bipartite lines: what attends to what, with line width proportional to attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.axes import (
    HOVER,
    STEPS,
    depth,
    ease_in_out,
    legend,
    print_labels,
    print_ticks,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Table, figure_caption, view
from areaviz.drawing.labels import Ticks, for_screen
from areaviz.drawing.select import (
    FocusedMap,
    field_name,
    fits_text,
    noun,
    positions,
    quote_items,
    select,
    visible_labels,
)
from areaviz.drawing.theme import (
    PRINT_FONT,
    Drawing,
    Layout,
    axis,
    decimals,
    head_colour,
    nice_top,
    plain_axes,
    print_figure,
    screen_figure,
    unseen_axis,
)
from areaviz.trace import query
from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.trace.request import Focus

MOST = 150
"""Maximum number of lines."""
_WIDEST_PX, _WIDEST_PT = 9.0, 6.0
_OPACITY = 0.7


@dataclass(frozen=True, slots=True)
class Line:
    """A line from a query to a memory item."""

    # All three indices are 0-based.
    head: int
    query: int
    item: int
    # Share of the query's attention.
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Lines(Drawing):
    """All lines of one map that are drawn."""

    chosen: FocusedMap
    # Strongest first.
    lines: Sequence[Line]
    # The share that the widest line represents.
    widest: float

    def path(self, line: Line) -> tuple[FloatArray, FloatArray]:
        """Return x and y of the curve from the memory item (y = 1) to the query (y = 0)."""
        top = (line.item + 0.5) / len(self.chosen.memory)
        bottom = (line.query + 0.5) / len(self.chosen.query)
        return ease_in_out(top, bottom), (1 - STEPS).astype(np.float32)


def lines(trace: Trace, focus: Focus) -> Lines:
    """Find the strongest lines of the focused items, or of all items if none is focused."""
    chosen = select(trace, focus)
    found: list[Line] = []
    for head in chosen.heads:
        shares_QN = query.item_shares(chosen.attention, chosen.layer, head)
        found += _strongest(head, np.where(_wanted(shares_QN.shape, focus), shares_QN, 0))
    kept = sorted(found, key=lambda line: -line.share)[:MOST]
    widest = min(1.0, nice_top(kept[0].share)) if kept else 1.0
    full = f"{widest:.{decimals(widest)}%}"
    heads = "every head in its colour" if len(chosen.heads) > 1 else chosen.head_words
    return Lines(
        title=f"{_subject(chosen, focus)}, {heads}",
        note=(
            f"{len(kept)} strongest lines; width: share of the {field_name(chosen.query)}"
            f" {noun(chosen.query)}'s"
            f" attention (full width: {full})"
        ),
        caption=figure_caption(trace, focus),
        chosen=chosen,
        lines=kept,
        widest=widest,
    )


def _subject(chosen: FocusedMap, focus: Focus) -> str:
    if chosen.focused:
        return f"Lines from {chosen.subject[0].lower()}{chosen.subject[1:]}"
    if not focus.items:
        return "Strongest lines"
    items, memory = sorted(set(focus.items)), chosen.memory
    where = positions(items, noun(memory))
    return f"Lines to {field_name(memory)} {where} {quote_items(memory, items)}"


def _wanted(shape: tuple[int, ...], focus: Focus) -> npt.NDArray[np.bool_]:
    """Return which pairs of query and item may be drawn."""
    wanted = np.full(shape, not focus.items)
    if focus.side == "query":
        wanted[list(focus.items)] = True
    else:
        wanted[:, list(focus.items)] = True
    return wanted


def _strongest(head: int, shares_QN: FloatArray) -> list[Line]:
    """Return at most `MOST` lines of one head, for its largest positive shares."""
    flat = shares_QN.ravel()
    order = np.argpartition(-flat, MOST)[:MOST] if flat.size > MOST else np.arange(flat.size)
    found = []
    for place in order[flat[order] > 0].tolist():
        attends, item = divmod(place, shares_QN.shape[1])
        found.append(Line(head, attends, item, float(flat[place])))
    return found


def figure(drawn: Lines) -> Figure:
    """Draw attended items above and queries below."""
    query_field, memory = drawn.chosen.query, drawn.chosen.memory
    heads = drawn.chosen.heads
    several = len(heads) > 1
    above, below = screen_labels(visible_labels(memory)), screen_labels(visible_labels(query_field))
    picture = screen_figure(
        drawn,
        250,
        above=depth(above) + 30,
        below=depth(below) + (58 if several else 30),
        across=_axis(query_field, below),
        down=unseen_axis(0, 1),
        xaxis2=_axis(memory, above) | {"side": "top", "overlaying": "x"},
        showlegend=several,
        legend=legend(0, itemclick=False),
    )
    picture.add_traces([_curve(drawn, line) for line in reversed(drawn.lines)])
    for head in heads:
        line = {"color": head_colour(head), "width": 4}
        name = f"head {head + 1}"
        picture.add_trace(
            Scatter(
                x=[None],
                y=[None],
                mode="lines",
                line=line,
                name=name,
            )
        )
    # Plotly draws the upper axis only if a trace uses it.
    return picture.add_trace(
        Scatter(
            x=[None],
            y=[None],
            xaxis="x2",
            showlegend=False,
        )
    )


def _axis(field: Field, labels: Ticks) -> Layout:
    ticks = screen_ticks(_placed(field, labels))
    return axis(f"{field_name(field)} {noun(field)}s", range=[0, 1], **ticks)


def _placed(field: Field, labels: Ticks) -> Ticks:
    """Rescale the tick positions so that a field spans the whole width, whatever its length."""
    return replace(labels, positions=tuple((i + 0.5) / len(field) for i in labels.positions))


def _curve(drawn: Lines, line: Line) -> Scatter:
    x, y = drawn.path(line)
    attends = for_screen(drawn.chosen.query.labels[line.query])
    attended = for_screen(drawn.chosen.memory.labels[line.item])
    one, other = noun(drawn.chosen.query), noun(drawn.chosen.memory)
    places = f"{one} {line.query + 1} → {other} {line.item + 1}, head {line.head + 1}"
    width = round(_WIDEST_PX * line.share / drawn.widest, 2)
    return Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": head_colour(line.head), "width": width},
        opacity=_OPACITY,
        showlegend=False,
        text=f"{attends} → {attended}<br>{places}<br>{line.share:.1%}",
        hovertemplate=HOVER,
    )


def table(drawn: Lines) -> Table:
    """Tabulate one row per line, strongest first."""
    queries, memory = visible_labels(drawn.chosen.query), visible_labels(drawn.chosen.memory)
    rows = []
    for line in drawn.lines:
        attends = (line.query + 1, queries[line.query])
        attended = (line.item + 1, memory[line.item])
        rows.append((line.head + 1, *attends, *attended, line.share))
    columns = ("head", "query position", "query", "memory position", "memory", "share")
    return Table(columns, rows)


def paper(drawn: Lines) -> PrintFigure:
    """Draw the figure for print."""
    result, axes = print_figure(drawn, 2.6)
    curves, widths, colours = [], [], []
    for line in reversed(drawn.lines):
        curves.append(np.column_stack(drawn.path(line)))
        widths.append(_WIDEST_PT * line.share / drawn.widest)
        colours.append(head_colour(line.head))
    axes.add_collection(
        LineCollection(
            curves,
            linewidths=widths,
            colors=colours,
            alpha=_OPACITY,
        )
    )
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1),
        yticks=[],
        xlabel="",
    )
    _print_axis(axes, drawn.chosen.query)
    upper = axes.twiny()
    upper.set_xlim(0, 1)
    plain_axes(upper)
    _print_axis(upper, drawn.chosen.memory, top=True)
    heads = drawn.chosen.heads
    if len(heads) > 1:
        axes.legend(
            handles=[
                Line2D([], [], color=head_colour(head), label=f"head {head + 1}") for head in heads
            ],
            fontsize=PRINT_FONT,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.13),
            ncols=8,
            frameon=False,
        )
    return result


def _print_axis(
    axes: Axes,
    field: Field,
    top: bool = False,
) -> None:
    print_ticks(axes, _placed(field, print_labels(visible_labels(field))), top)
    axes.set_xlabel(f"{field_name(field)} {noun(field)}s", fontsize=8)


VIEW = view(
    "lines",
    "Lines",
    "Which items does each item attend to, and how strongly?",
    fits_text,
    lines,
    figure,
    table,
    paper,
    how_to_read=(
        "Each line joins an item to one that it attends to. A thicker line means a larger"
        " weight. Each colour is one head."
    ),
)

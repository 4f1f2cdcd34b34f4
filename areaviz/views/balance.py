"""The balance: how much of each word's context came from the text, and how much from
the picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.drawing import theme
from areaviz.drawing.axes import print_labels, screen_labels, screen_ticks
from areaviz.drawing.base import Table, View
from areaviz.drawing.labels import escape
from areaviz.drawing.pictures import CASING
from areaviz.drawing.two_memories import strengths_fit
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.balance_bars import BROAD, Balance, balance


def figure(trace: Trace, focus: Focus) -> Figure:
    """A bar a word: the text's share from the left, the picture's from the right."""
    drawn = balance(trace, focus)
    result = theme.screen(drawn.title, drawn.note, drawn.caption, drawn.height, above=30, below=30)
    rows = list(range(len(drawn.labels)))
    for side, colour, base, length in drawn.bars():
        hover = [
            f"{escape(label)}<br>{share:.1%} from the {side}"
            for label, share in zip(drawn.labels, length, strict=True)
        ]
        style = {
            "marker": {"color": colour, "opacity": drawn.opacity, "line": {"width": 0}},
            "width": BROAD,
        }
        more = {
            "hovertext": hover,
            "hovertemplate": "%{hovertext}<extra></extra>",
            "name": f"from the {side}",
        }
        result.add_trace(Bar(x=length, base=base, y=rows, orientation="h", **style, **more))
    result.add_traces([_marks(drawn), _numbers(drawn)])
    result.add_vline(0.5, line={"color": theme.EDGE, "width": 1, "dash": "dot"})
    key = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "itemclick": False,
        "itemdoubleclick": False,
    }
    result.update_layout(barmode="overlay", showlegend=True, legend=key | {"bgcolor": theme.CLEAR})
    result.update_xaxes(range=[0, 1.14], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%")
    words = screen_labels(drawn.labels, drawn.height, upright=True)
    return result.update_yaxes(screen_ticks(words), range=[len(rows) - 0.5, -0.5])


def _marks(drawn: Balance) -> Scatter:
    """A dot for every head, edged so that it shows on both colours."""
    share, down, heads = drawn.marks()
    texts = [
        f"head {head + 1}: {one:.1%} from the text" for head, one in zip(heads, share, strict=True)
    ]
    marker = {"size": 5, "color": "#FFFFFF", "line": {"color": CASING, "width": 1}}
    style = {
        "hovertext": texts,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "showlegend": False,
    }
    return Scatter(x=share, y=down, mode="markers", marker=marker, **style)


def _numbers(drawn: Balance) -> Scatter:
    """Both shares beside a bar, in per cent."""
    style = {
        "mode": "text",
        "textposition": "middle right",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    rows = list(range(len(drawn.labels)))
    return Scatter(
        x=[1.005] * len(rows),
        y=rows,
        text=drawn.numbers(),
        textfont={"size": theme.SCREEN_FONT},
        **style,
    )


def table(trace: Trace, focus: Focus) -> Table:
    """One line a word: both shares as drawn, and the text's share in every head; empty where there
    is no context.
    """
    drawn = balance(trace, focus)
    columns = (
        "position",
        "item",
        "text",
        "picture",
        *(f"text, head {head + 1}" for head in range(len(drawn.heads))),
    )
    rows: list[tuple[str | int | float, ...]] = []
    for row, (first, label) in enumerate(zip(drawn.positions, drawn.labels, strict=True)):
        shares = (drawn.drawn[row], 1 - drawn.drawn[row], *drawn.heads[:, row])
        rows.append((first + 1, label, *map(float, shares)))
    return Table(columns, rows)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = balance(trace, focus)
    result, axes = theme.paper(drawn.title, drawn.note, drawn.caption, drawn.height / 96)
    rows = np.arange(len(drawn.labels))
    for side, colour, base, length in drawn.bars():
        bars = axes.barh(rows, length, BROAD, base, color=colour, label=f"from the {side}")
        for bar, opacity in zip(bars, drawn.opacity, strict=True):
            bar.set_alpha(opacity)
    axes.axvline(0.5, color=theme.PRINT_EDGE, linewidth=0.6, linestyle=":")
    share, down, _ = drawn.marks()
    axes.scatter(share, down, 7, facecolors="white", edgecolors=CASING, linewidths=0.6, zorder=3)
    for row, text in enumerate(drawn.numbers()):
        axes.text(1.005, row, text, va="center_baseline", fontsize=theme.PRINT_FONT)
    axes.set(xlim=(0, 1.09), ylim=(len(rows) - 0.5, -0.5), xticks=[0, 0.25, 0.5, 0.75, 1])
    words = print_labels(drawn.labels, 72 * drawn.height / 96, upright=True)
    axes.set_yticks(words.positions, words.texts)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    place: dict[str, Any] = {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1),
        "ncols": 2,
        "frameon": False,
    }
    key = axes.legend(fontsize=theme.PRINT_FONT, borderaxespad=0.1, **place)
    for handle in key.legend_handles:
        if handle is not None:
            handle.set_alpha(1)  # else as faint as the first bar
    return theme.finish(result)


VIEW = View(
    name="balance",
    title="Text or picture",
    question="Does a word's context come from the text or from the picture?",
    fits=strengths_fit,
    figure=figure,
    table=table,
    print=paper,
)

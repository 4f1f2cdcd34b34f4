"""The area-size histogram: what share of each head's attention goes to areas of each size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter
from plotly.graph_objects import Bar, Figure

from areaviz.drawing import theme
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.select import fits
from areaviz.trace import query
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

_TITLE = "Share of the attention by area size"
_UNIT = "share of attention"


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """shares: float32 [H, K] for the K area sizes, in items; the shares of a head sum to 1."""

    sizes: tuple[int, ...]
    shares: FloatArray
    head: int | None
    note: str
    caption: str

    def x(self, head: int) -> FloatArray:
        """Where the bars of a head stand: groups of K bars with a gap between groups."""
        pitch = len(self.sizes) + max(1.0, 0.3 * len(self.sizes))
        return (head * pitch + np.arange(len(self.sizes))).astype(np.float32)

    def opacity(self, head: int) -> float:
        """The focused head stands out."""
        return 1.0 if self.head in (None, head) else 0.35


def histogram(trace: Trace, focus: Focus) -> Histogram:
    """Shares over all queries, which is how a head's habit shows."""
    attention = trace.maps[focus.site]
    heads = [
        query.area_size_shares(attention, focus.layer, head) for head in range(attention.heads)
    ]
    sizes = tuple(heads[0])
    means = [sum(size * share for size, share in shares.items()) for shares in heads]
    spread = f"mean area size {min(means):.1f} to {max(means):.1f} items"
    note = f"over all queries; the bars of a head sum to 100%; {spread}"
    shares = np.array([list(head.values()) for head in heads], dtype=np.float32)
    return Histogram(sizes, shares, focus.head, note, caption(trace, replace(focus, head=None)))


def _ticks(drawn: Histogram) -> tuple[list[float], list[str]]:
    """Under every bar its size (fewer where bars are many), under every group its head."""
    bars = drawn.shares.size
    stride = 1 if bars <= 40 else len(drawn.sizes) if bars > 120 else 4
    places: list[float] = []
    texts: list[str] = []
    for head in range(len(drawn.shares)):
        x = drawn.x(head)
        named = {float(x[i]): str(drawn.sizes[i]) for i in range(0, len(x), stride)}
        middle = float(x.mean())
        named[middle] = (
            named.get(middle, "")
            + "\n"
            + (f"head {head + 1}" if len(drawn.shares) <= 6 else f"H{head + 1}")
        )
        places += named.keys()
        texts += named.values()
    return places, texts


def figure(trace: Trace, focus: Focus) -> Figure:
    """Bars in the heads' colours; with one head focused, the others step back."""
    drawn = histogram(trace, focus)
    places, texts = _ticks(drawn)
    broken = [text.replace("\n", "<br>") for text in texts]
    picture = theme.screen(
        _TITLE,
        drawn.note,
        drawn.caption,
        240,
        above=8,
        below=66,
        across=theme.axis("area size (items)", tickvals=places, ticktext=broken, tickangle=0),
        down=theme.axis(_UNIT, showgrid=True, tickformat=".0%", nticks=5, rangemode="tozero"),
    )
    for head, shares in enumerate(drawn.shares):
        bar = Bar(
            x=drawn.x(head),
            y=shares,
            width=0.86,
            marker={"color": theme.head_colour(head), "line": {"color": theme.EDGE, "width": 0.5}},
            opacity=drawn.opacity(head),
            customdata=drawn.sizes,
            name=f"head {head + 1}",
            hovertemplate=(
                f"head {head + 1}, area size %{{customdata}}<br>%{{y:.1%}} of the"
                " attention<extra></extra>"
            ),
        )
        picture.add_trace(bar)
    return picture


def table(trace: Trace, focus: Focus) -> Table:
    """One line a head and area size."""
    drawn = histogram(trace, focus)
    lines = [
        (head + 1, size, float(share))
        for head, shares in enumerate(drawn.shares)
        for size, share in zip(drawn.sizes, shares, strict=True)
    ]
    return Table(("head", "area size", "share"), lines)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = histogram(trace, focus)
    result, axes = theme.paper(_TITLE, drawn.note, drawn.caption, 1.9)
    axes.grid(axis="y", color=theme.PRINT_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    for head, shares in enumerate(drawn.shares):
        style: dict[str, Any] = {
            "edgecolor": theme.PRINT_EDGE,
            "linewidth": 0.4,
            "alpha": drawn.opacity(head),
        }
        axes.bar(drawn.x(head), shares, 0.86, color=theme.head_colour(head), **style)
    places, texts = _ticks(drawn)
    axes.set_xticks(places, texts)
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("area size (items)", fontsize=8)
    axes.set_ylabel(_UNIT, fontsize=8)
    return theme.finish(result)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Whether there is more than one size: attention to single items has no areas to count."""
    return (
        fits(trace, focus)
        and max(trace.maps[focus.site].grid.max_height, trace.maps[focus.site].grid.max_width) > 1
    )


VIEW = View(
    name="sizes",
    title="Area sizes",
    question="Does a head attend to single items or to longer areas?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)

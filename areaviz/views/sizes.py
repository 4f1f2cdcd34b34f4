"""Area-size histogram: the share of each head's attention that goes to areas of each size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Bar, Figure

from areaviz.drawing.axes import print_shares, print_titles
from areaviz.drawing.base import Table, figure_caption, view
from areaviz.drawing.select import fits_map, noun
from areaviz.drawing.theme import (
    EDGE,
    PRINT_EDGE,
    Drawing,
    axis,
    head_colour,
    print_figure,
    screen_figure,
)
from areaviz.trace import query
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

_DOWN = "share of attention"
_BROAD = 0.86


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Drawing):
    """Groups of bars: one group per head, one bar per area size."""

    # In items, in ascending order.
    sizes: tuple[int, ...]
    # Shares for K sizes, float32 [H, K]; the shares of a head sum to 1.
    shares: FloatArray
    # The focused head, or None for all.
    head: int | None
    # Unit of the sizes.
    noun: str = "item"

    @property
    def across(self) -> str:
        """Title of the horizontal axis."""
        return f"area size ({self.noun}s)"

    def x(self, head: int) -> FloatArray:
        """Return the positions of a head's bars; there is a gap between heads."""
        count = len(self.sizes)
        pitch = count + max(1.0, 0.3 * count)
        return (head * pitch + np.arange(count)).astype(np.float32)

    def opacity(self, head: int) -> float:
        """Return the opacity of a head's bars; if a head is focused, only its bars are opaque."""
        return 1.0 if self.head in (None, head) else 0.35

    def ticks(self) -> tuple[list[float], list[str]]:
        """Return positions and texts of the ticks: sizes below bars, the head below each group.

        If there are many bars, only some sizes are written.
        """
        stride = 1
        if self.shares.size > 40:
            stride = 4 if self.shares.size <= 120 else len(self.sizes)
        word = "head " if len(self.shares) <= 6 else "H"
        places: list[float] = []
        texts: list[str] = []
        for head in range(len(self.shares)):
            x = self.x(head)
            named = dict(zip(x[::stride].tolist(), map(str, self.sizes[::stride]), strict=True))
            middle = float(x.mean())
            named[middle] = f"{named.get(middle, '')}\n{word}{head + 1}"
            places += named.keys()
            texts += named.values()
        return places, texts


def histogram(trace: Trace, focus: Focus) -> Histogram:
    """Compute the shares over all queries, because a head's preference shows only on average."""
    attention = trace.maps[focus.site]
    unit = noun(trace.fields[attention.memory])
    rows, means = [], []
    for head in range(attention.heads):
        shares = query.area_size_shares(attention, focus.layer, head)
        rows.append(list(shares.values()))
        means.append(sum(size * share for size, share in shares.items()))
    return Histogram(
        title="Share of the attention by area size",
        note=(
            "over all queries; the bars of a head sum to 100%; mean area size"
            f" {min(means):.1f} to {max(means):.1f} {unit}s"
        ),
        caption=figure_caption(trace, replace(focus, head=None)),
        sizes=tuple(shares),
        shares=np.array(rows, dtype=np.float32),
        head=focus.head,
        noun=unit,
    )


def figure(drawn: Histogram) -> Figure:
    """Draw bars in the heads' colours; if a head is focused, all other heads are pale."""
    places, texts = drawn.ticks()
    broken = [text.replace("\n", "<br>") for text in texts]
    picture = screen_figure(
        drawn,
        240,
        above=8,
        below=66,
        across=axis(
            drawn.across,
            tickvals=places,
            ticktext=broken,
            tickangle=0,
        ),
        down=axis(
            _DOWN,
            showgrid=True,
            tickformat=".0%",
            nticks=5,
            rangemode="tozero",
        ),
    )
    for head, shares in enumerate(drawn.shares):
        name = f"head {head + 1}"
        size = f"{name}, area size %{{customdata}}"
        picture.add_trace(
            Bar(
                x=drawn.x(head),
                y=shares,
                width=_BROAD,
                marker_color=head_colour(head),
                marker_line_color=EDGE,
                marker_line_width=0.5,
                opacity=drawn.opacity(head),
                customdata=drawn.sizes,
                name=name,
                hovertemplate=f"{size}<br>%{{y:.1%}} of the attention<extra></extra>",
            )
        )
    return picture


def table(drawn: Histogram) -> Table:
    """Tabulate one row per head and area size."""
    rows = []
    for head, shares in enumerate(drawn.shares.tolist(), 1):
        rows += [(head, size, share) for size, share in zip(drawn.sizes, shares, strict=True)]
    return Table(("head", "area size", "share"), rows)


def paper(drawn: Histogram) -> PrintFigure:
    """Draw the figure for print."""
    result, axes = print_figure(drawn, 1.9)
    print_shares(axes)
    for head, shares in enumerate(drawn.shares):
        axes.bar(
            drawn.x(head),
            shares,
            _BROAD,
            color=head_colour(head),
            edgecolor=PRINT_EDGE,
            linewidth=0.4,
            alpha=drawn.opacity(head),
        )
    axes.set_xticks(*drawn.ticks())
    print_titles(axes, drawn.across, _DOWN)
    return result


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether there is more than one area size."""
    if not fits_map(trace, focus):
        return False
    grid = trace.maps[focus.site].grid
    return max(grid.max_height, grid.max_width) > 1


VIEW = view(
    "sizes",
    "Area sizes",
    "Does a head attend to single items or to longer areas?",
    _fits,
    histogram,
    figure,
    table,
    paper,
    how_to_read=(
        "Each bar shows how much of a head's attention goes to areas of one size. The leftmost bar "
        "is for single items. If it holds everything, the head attends to single items only."
    ),
)

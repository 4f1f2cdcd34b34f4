"""The area pyramid: the weight of every span, each drawn as a cell centred over the items it
covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing import raster, theme
from areaviz.drawing.axes import (
    depth,
    lay_picture,
    print_labels,
    print_scale,
    print_ticks,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import Ticks, escape
from areaviz.drawing.select import Selection, fits_text, name, quote, select, shown
from areaviz.trace.areas import run_text
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

_LENGTH = "span length (items)"
_UNIT = "weight"
_PRINT_PIXELS = 2000
"""Columns of a long memory in print: as many as can be told apart on a page."""


@dataclass(frozen=True, slots=True, eq=False)
class Pyramid:
    """Weights of the spans of every length: float32 [N - length + 1] for lengths 1, 2, ..., and the
    scale's end.
    """

    chosen: Selection
    rows: tuple[FloatArray, ...]
    top: float
    title: str
    note: str

    @property
    def items(self) -> int:
        """How many items the memory has."""
        return len(self.rows[0])


def pyramid(trace: Trace, focus: Focus) -> Pyramid:
    """The weight of every span, averaged over the focused heads and queries."""
    chosen = select(trace, focus)
    weights_A = chosen.mean_weights()
    grid = chosen.attention.grid
    slabs = [grid.slab(1, width) for width in range(1, grid.max_width + 1)]
    rows = tuple(weights_A[first : first + columns] for first, _, columns in slabs)
    title = f"{chosen.subject}: weight of every area, {chosen.head_words}"
    block = raster.block(2 * len(rows[0])) if len(rows[0]) > raster.CELLS else 1
    title += f" · averaged {block / 2:g} items to a pixel" if block > 1 else ""
    note = "each cell is one area, centred over the items it spans; all cells sum to 100%"
    return Pyramid(chosen, rows, min(1.0, theme.nice_top(float(weights_A.max()))), title, note)


def figure(trace: Trace, focus: Focus) -> Figure:
    """Span start runs across, span length upwards, so that the cells form a pyramid."""
    drawn = pyramid(trace, focus)
    across = screen_labels(shown(drawn.chosen.memory))
    height = float(np.clip(30 * len(drawn.rows), 44, 320))
    lengths, memory = screen_ticks(_lengths(drawn)), f"{name(drawn.chosen.memory)} items"
    title = _LENGTH if len(drawn.rows) > 3 else ""  # longer than the axis of a few rows
    picture = theme.screen(
        drawn.title,
        drawn.note,
        caption(trace, focus),
        height,
        above=8,
        below=depth(across) + 28,
        across=theme.axis(memory, range=[-0.5, drawn.items - 0.5], **screen_ticks(across)),
        down=theme.axis(title, range=[0.5, len(drawn.rows) + 0.5], **lengths),
        coloraxis=theme.colour_axis(drawn.top, _UNIT, short=height < 130),
    )
    if drawn.items > raster.CELLS:
        halves = _averaged(drawn)[::-1]
        lay_picture(
            picture, halves, drawn.top, (-0.5, len(drawn.rows) + 0.5, drawn.items, len(drawn.rows))
        )
    else:
        picture.add_traces([_cells(drawn, width) for width in range(1, len(drawn.rows) + 1)])
    return picture


def _lengths(drawn: Pyramid) -> Ticks:
    lengths = tuple(range(1, len(drawn.rows) + 1))
    return Ticks(lengths, tuple(str(length) for length in lengths))


def _cells(drawn: Pyramid, width: int) -> Heatmap:
    """The spans of one length as a row of cells, shifted so that each stands over its middle."""
    memory, values = drawn.chosen.memory, drawn.rows[width - 1]
    texts = [
        f"{escape(quote(memory, range(i, i + width)))} {run_text('item', i, width)}"
        for i in range(len(values))
    ]
    return Heatmap(
        z=values[None, :],
        x0=(width - 1) / 2,
        dx=1,
        y0=width,
        dy=1,
        text=[texts],
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertemplate="%{text}<br>%{z:.2%} of the attention<extra></extra>",
    )


def half_columns(rows: tuple[FloatArray, ...]) -> FloatArray:
    """The pyramid as a matrix [lengths, 2N] of half-item columns, NaN outside the pyramid."""
    halves = np.full((len(rows), 2 * len(rows[0])), np.nan, dtype=np.float32)
    for i, row in enumerate(rows):
        halves[i, i : i + 2 * len(row)] = row.repeat(2)
    return halves


def _averaged(drawn: Pyramid, limit: int = raster.PIXELS) -> FloatArray:
    """The same of at most so many columns, the shortest spans first."""
    halves = half_columns(drawn.rows)
    return raster.average(halves, 1, raster.block(halves.shape[1], limit))


def table(trace: Trace, focus: Focus) -> Table:
    """One line an area: where it starts (from 1), how long it is, what it holds, its weight."""
    drawn = pyramid(trace, focus)
    memory = drawn.chosen.memory
    lines = [
        (start + 1, width, quote(memory, range(start, start + width))[1:-1], float(weight))
        for width, row in enumerate(drawn.rows, start=1)
        for start, weight in enumerate(row)
    ]
    return Table(("start", "length", "text", "weight"), lines)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = pyramid(trace, focus)
    height = float(np.clip(0.25 * len(drawn.rows), 0.5, 3))
    result, axes = theme.paper(drawn.title, drawn.note, caption(trace, focus), height)
    norm = Normalize(0, drawn.top)
    if drawn.items > raster.CELLS:
        box = (-0.5, drawn.items - 0.5, 0.5, len(drawn.rows) + 0.5)
        style: dict[str, Any] = {"origin": "lower", "aspect": "auto", "interpolation": "nearest"}
        axes.imshow(_averaged(drawn, _PRINT_PIXELS), theme.SEQUENCE, norm, extent=box, **style)
    else:
        _print_cells(axes, drawn, norm)
    axes.set(
        xlim=(-0.5, drawn.items - 0.5),
        ylim=(0.5, len(drawn.rows) + 0.5),
        yticks=_lengths(drawn).positions,
    )
    print_ticks(axes, print_labels(shown(drawn.chosen.memory)))
    axes.set_xlabel(f"{name(drawn.chosen.memory)} items", fontsize=8)
    axes.set_ylabel(_LENGTH, fontsize=8)
    print_scale(
        result, axes, ScalarMappable(norm, theme.SEQUENCE), _UNIT, drawn.top, short=height < 1
    )
    return theme.finish(result)


def _print_cells(axes: Axes, drawn: Pyramid, norm: Normalize) -> None:
    for width, row in enumerate(drawn.rows, start=1):
        edges = np.arange(len(row) + 1) + (width - 2) / 2
        rule: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.4}
        axes.pcolormesh(
            edges, [width - 0.5, width + 0.5], row[None, :], norm=norm, cmap=theme.SEQUENCE, **rule
        )


def _fits(trace: Trace, focus: Focus) -> bool:
    """Spans only: a pyramid cannot show rectangles."""
    return fits_text(trace, focus) and trace.maps[focus.site].grid.height == 1


VIEW = View(
    name="pyramid",
    title="Area pyramid",
    question="Which areas, short or long, receive the attention?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)

"""The area pyramid: the weight of every span, drawn as a cell centred over the items it covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing.axes import (
    depth,
    lay_picture,
    print_labels,
    print_scale,
    print_ticks,
    print_titles,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Table, caption, view
from areaviz.drawing.labels import Ticks, escape
from areaviz.drawing.pictures import CELLS, PIXELS, average, block_size
from areaviz.drawing.select import field_name, fits_text, quote, select, shown
from areaviz.drawing.theme import (
    SEQUENCE,
    Drawing,
    axis,
    colour_axis,
    nice_top,
    print_figure,
    screen_figure,
)
from areaviz.trace.areas import run_text
from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.trace.request import Focus

_LENGTH, _UNIT = "span length (items)", "weight"


@dataclass(frozen=True, slots=True, eq=False)
class Pyramid(Drawing):
    """Weights of the spans of a text."""

    memory: Field
    # Of the spans of lengths 1, 2, ...: float32 [N - length + 1] each.
    rows: Sequence[FloatArray]
    # The end of the scale.
    top: float

    @property
    def right(self) -> float:
        """The edge of the last item; the first one begins at -0.5."""
        return len(self.memory) - 0.5

    @property
    def upper(self) -> float:
        """The edge of the longest spans; single items begin at 0.5."""
        return len(self.rows) + 0.5

    @property
    def is_picture(self) -> bool:
        """Whether there are too many cells to be drawn one by one."""
        return len(self.memory) > CELLS

    @property
    def lengths(self) -> Ticks:
        """The labels of the rows."""
        lengths = tuple(range(1, len(self.rows) + 1))
        return Ticks(lengths, tuple(map(str, lengths)))


def pyramid(trace: Trace, focus: Focus) -> Pyramid:
    """The weight of every span, averaged over the focused heads and queries."""
    chosen = select(trace, focus)
    weights_A = chosen.weights(list(chosen.queries))
    grid = chosen.attention.grid
    rows = []
    for width in range(1, grid.max_width + 1):
        first, _, columns = grid.slab(1, width)
        rows.append(weights_A[first : first + columns])
    title = f"{chosen.subject}: weight of every area, {chosen.head_words}"
    # Columns are half an item wide, as spans of even length stand between two items.
    block = block_size(2 * len(chosen.memory))
    if len(chosen.memory) > CELLS and block > 1:
        title += f" · averaged {block / 2:g} items to a pixel"
    return Pyramid(
        title=title,
        note="each cell is one area, centred over the items it spans; all cells sum to 100%",
        caption=caption(trace, focus),
        memory=chosen.memory,
        rows=rows,
        top=min(1.0, nice_top(float(weights_A.max()))),
    )


def figure(drawn: Pyramid) -> Figure:
    """Span start runs across, span length upwards, so that the cells form a pyramid."""
    lengths, items = len(drawn.rows), len(drawn.memory)
    across = screen_labels(shown(drawn.memory))
    height = float(np.clip(30 * lengths, 44, 320))
    # The title is longer than the axis of a few rows.
    title = _LENGTH if lengths > 3 else ""
    memory = f"{field_name(drawn.memory)} items"
    picture = screen_figure(
        drawn,
        height,
        above=8,
        below=depth(across) + 28,
        across=axis(memory, range=[-0.5, drawn.right], **screen_ticks(across)),
        down=axis(title, range=[0.5, drawn.upper], **screen_ticks(drawn.lengths)),
        coloraxis=colour_axis(drawn.top, _UNIT, short=height < 130),
    )
    if drawn.is_picture:
        halves = _averaged(drawn, PIXELS)[::-1]
        lay_picture(picture, halves, drawn.top, (-0.5, drawn.upper, items, lengths))
    else:
        picture.add_traces([_cells(drawn, length) for length in range(1, lengths + 1)])
    return picture


def _cells(drawn: Pyramid, length: int) -> Heatmap:
    """The spans of one length as a row of cells, shifted so that each stands over its middle."""
    values, texts = drawn.rows[length - 1], []
    for start in range(len(values)):
        words = escape(quote(drawn.memory, range(start, start + length)))
        texts.append(f"{words} {run_text('item', start, length)}")
    return Heatmap(
        z=values[None, :],
        x0=(length - 1) / 2,
        dx=1,
        y0=length,
        dy=1,
        text=[texts],
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertemplate="%{text}<br>%{z:.2%} of the attention<extra></extra>",
    )


def half_columns(rows: Sequence[FloatArray]) -> FloatArray:
    """The pyramid as a matrix [lengths, 2N] of half-item columns, NaN outside the pyramid."""
    halves = np.full((len(rows), 2 * len(rows[0])), np.nan, dtype=np.float32)
    for i, row in enumerate(rows):
        halves[i, i : i + 2 * len(row)] = row.repeat(2)
    return halves


def _averaged(drawn: Pyramid, limit: int) -> FloatArray:
    """The same of at most so many columns, the shortest spans first."""
    halves = half_columns(drawn.rows)
    return average(halves, 1, block_size(halves.shape[1], limit))


def table(drawn: Pyramid) -> Table:
    """One line an area: where it starts (from 1), how long it is, what it holds, its weight."""
    rows = []
    for length, weights in enumerate(drawn.rows, 1):
        for start, weight in enumerate(weights.tolist()):
            quoted = quote(drawn.memory, range(start, start + length))
            rows.append((start + 1, length, quoted[1:-1], weight))
    return Table(("start", "length", "text", "weight"), rows)


def paper(drawn: Pyramid) -> PrintFigure:
    """The same picture for paper."""
    height = float(np.clip(0.25 * len(drawn.rows), 0.5, 3))
    result, axes = print_figure(drawn, height)
    norm = Normalize(0, drawn.top)
    if drawn.is_picture:
        axes.imshow(
            # As many columns as can be told apart on a page.
            _averaged(drawn, 2000),
            SEQUENCE,
            norm,
            extent=(-0.5, drawn.right, 0.5, drawn.upper),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )
    else:
        for length, row in enumerate(drawn.rows, 1):
            axes.pcolormesh(
                np.arange(len(row) + 1) + (length - 2) / 2,
                [length - 0.5, length + 0.5],
                row[None, :],
                norm=norm,
                cmap=SEQUENCE,
                edgecolors="white",
                linewidth=0.4,
            )
    axes.set(
        xlim=(-0.5, drawn.right),
        ylim=(0.5, drawn.upper),
        yticks=drawn.lengths.positions,
    )
    print_ticks(axes, print_labels(shown(drawn.memory)))
    print_titles(axes, f"{field_name(drawn.memory)} items", _LENGTH)
    scale = ScalarMappable(norm, SEQUENCE)
    print_scale(
        result,
        axes,
        scale,
        _UNIT,
        drawn.top,
        short=height < 1,
    )
    return result


def _fits(trace: Trace, focus: Focus) -> bool:
    """Spans only: a pyramid cannot show rectangles."""
    return fits_text(trace, focus) and trace.maps[focus.site].grid.height == 1


VIEW = view(
    "pyramid",
    "Area pyramid",
    "Which areas, short or long, receive the attention?",
    _fits,
    pyramid,
    figure,
    table,
    paper,
)

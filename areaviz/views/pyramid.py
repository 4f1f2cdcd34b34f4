"""Area pyramid: the weight of every span, drawn as a cell centred above the items it covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing.axes import (
    add_heatmap_image,
    depth,
    print_labels,
    print_scale,
    print_ticks,
    print_titles,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Table, figure_caption, view
from areaviz.drawing.labels import Ticks, escape
from areaviz.drawing.pictures import CELLS, PIXELS, average_blocks, block_size
from areaviz.drawing.select import field_name, fits_text, noun, quote_items, select, visible_labels
from areaviz.drawing.theme import (
    PRINT_FONT,
    SCREEN_FONT,
    SEQUENCE,
    Drawing,
    Layout,
    axis,
    colour_axis,
    nice_top,
    print_figure,
    screen_figure,
)
from areaviz.trace.areas import run_text
from areaviz.trace.query import smallest_area
from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.trace.request import Focus

_UNIT = "weight"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """The spans of one length."""

    # In items.
    length: int
    # Weights by first item: float32 [N - length + 1].
    weights: FloatArray

    @property
    def total(self) -> str:
        """Total weight of all spans of this length, as a percentage."""
        return _percent(float(self.weights.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Pyramid(Drawing):
    """Weights of the spans of a text."""

    memory: Field
    # Shown lengths in rising order.
    rows: Sequence[Row]

    @property
    def top(self) -> float:
        """Upper end of the colour scale of all rows, a round number."""
        return nice_top(max(float(row.weights.max()) for row in self.rows))

    @property
    def right(self) -> float:
        """Right edge of the last item; the first one begins at -0.5."""
        return len(self.memory) - 0.5

    @property
    def lower(self) -> float:
        """Lower edge of the shortest spans; single items begin at 0.5."""
        return self.rows[0].length - 0.5

    @property
    def upper(self) -> float:
        """Upper edge of the longest spans."""
        return self.rows[-1].length + 0.5

    @property
    def length_title(self) -> str:
        """Title of the axis of lengths."""
        return f"span length ({noun(self.memory)}s)"

    @property
    def is_picture(self) -> bool:
        """Whether there are too many cells to draw them one by one."""
        return len(self.memory) > CELLS

    @property
    def lengths(self) -> Ticks:
        """Labels of the rows."""
        lengths = tuple(row.length for row in self.rows)
        return Ticks(lengths, tuple(map(str, lengths)))


def pyramid(trace: Trace, focus: Focus) -> Pyramid:
    """Compute the weight of every span, averaged over the focused heads and queries.

    If the focus is on areas of several items, single items are left out.
    """
    chosen = select(trace, focus)
    weights_A = chosen.weights(list(chosen.queries))
    grid, shortest = chosen.attention.grid, smallest_area(chosen.attention, focus)
    rows = []
    for length in range(shortest, grid.max_width + 1):
        first, _, columns = grid.slab(1, length)
        rows.append(Row(length, weights_A[first : first + columns]))
    title = f"{chosen.subject}: weight of every area, {chosen.head_words}"
    # Columns are half an item wide, because spans of even length are centred between two items.
    block = block_size(2 * len(chosen.memory))
    if len(chosen.memory) > CELLS and block > 1:
        title += f" · averaged {block / 2:g} items to a pixel"
    note = (
        f"each cell is one area, centred over the {noun(chosen.memory)}s it spans; all rows have"
        " one colour scale; the number at the right is the row's total"
    )
    if shortest > 1:
        left_out = _percent(float(weights_A[: grid.items].sum()))
        note += f"; single {noun(chosen.memory)}s, {left_out} in all, are left out"
    return Pyramid(
        title=title,
        note=note,
        caption=figure_caption(trace, focus),
        memory=chosen.memory,
        rows=rows,
    )


def _percent(share: float) -> str:
    """Format a share as a percentage, with a decimal if it is small."""
    return f"{share:.0%}" if share >= 0.0995 or share == 0 else f"{share:.1%}"


def figure(drawn: Pyramid) -> Figure:
    """Draw span starts across and span lengths upwards, so that the cells form a pyramid."""
    lengths, items = len(drawn.rows), len(drawn.memory)
    across = screen_labels(visible_labels(drawn.memory))
    height = float(np.clip(30 * lengths, 44, 320))
    # For few rows, the title would be longer than the axis.
    title = drawn.length_title if lengths > 3 else ""
    memory = f"{field_name(drawn.memory)} {noun(drawn.memory)}s"
    picture = screen_figure(
        drawn,
        height,
        above=8,
        below=depth(across) + 28,
        across=axis(memory, range=[-0.5, drawn.right], **screen_ticks(across)),
        down=axis(title, range=[drawn.lower, drawn.upper], **screen_ticks(drawn.lengths)),
        labels={"xaxis": visible_labels(drawn.memory)},
        coloraxis=colour_axis(drawn.top, _UNIT, short=True),
        annotations=[_at_right_end(drawn, row) for row in drawn.rows],
    )
    # Leave space for the totals, and to their right for the colour scale.
    picture.layout.margin.r = 112
    picture.layout.coloraxis.colorbar.update(x=1, xanchor="left", xpad=52)
    if drawn.is_picture:
        halves = _averaged(drawn, PIXELS)[::-1]
        add_heatmap_image(picture, halves, drawn.top, (-0.5, drawn.upper, items, lengths))
    else:
        picture.add_traces([_cells(drawn, row) for row in drawn.rows])
    return picture


def _at_right_end(drawn: Pyramid, row: Row) -> Layout:
    """Return the annotation with the row's total, to the right of its last cell."""
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 9,
        "y": row.length,
        "text": row.total,
        "showarrow": False,
        "font": {"size": SCREEN_FONT, "weight": 700},
    }


def _cells(drawn: Pyramid, row: Row) -> Heatmap:
    """Draw the spans of one length as a row of cells, each centred above the items it covers."""
    texts = []
    for start, weight in enumerate(row.weights.tolist()):
        words = escape(quote_items(drawn.memory, range(start, start + row.length)))
        texts.append(f"{words} {run_text(noun(drawn.memory), start, row.length)}<br>{weight:.2%}")
    return Heatmap(
        z=row.weights[None, :],
        x0=(row.length - 1) / 2,
        dx=1,
        y0=row.length,
        dy=1,
        text=[texts],
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertemplate="%{text} of the attention<extra></extra>",
    )


def half_columns(rows: Sequence[Row]) -> FloatArray:
    """Return the pyramid as a matrix [lengths, 2N] of half-item columns, NaN outside it."""
    items = len(rows[0].weights) + rows[0].length - 1
    halves = np.full((len(rows), 2 * items), np.nan, dtype=np.float32)
    for place, row in enumerate(rows):
        left = row.length - 1
        halves[place, left : left + 2 * len(row.weights)] = row.weights.repeat(2)
    return halves


def _averaged(drawn: Pyramid, limit: int) -> FloatArray:
    """Return `half_columns` averaged to at most `limit` columns, shortest spans first."""
    halves = half_columns(drawn.rows)
    return average_blocks(halves, 1, block_size(halves.shape[1], limit))


def table(drawn: Pyramid) -> Table:
    """Tabulate one row per area: its start (from 1), its length, its text and its weight."""
    rows = []
    for row in drawn.rows:
        for start, weight in enumerate(row.weights.tolist()):
            quoted = quote_items(drawn.memory, range(start, start + row.length))
            rows.append((start + 1, row.length, quoted[1:-1], weight))
    return Table(("start", "length", "text", "weight"), rows)


def paper(drawn: Pyramid) -> PrintFigure:
    """Draw the figure for print."""
    height = float(np.clip(0.25 * len(drawn.rows), 0.5, 3))
    result, axes = print_figure(drawn, height)
    norm = Normalize(0, drawn.top)
    if drawn.is_picture:
        axes.imshow(
            # As many columns as a reader can distinguish on a page.
            _averaged(drawn, 2000),
            SEQUENCE,
            norm,
            extent=(-0.5, drawn.right, drawn.lower, drawn.upper),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )
    else:
        for row in drawn.rows:
            axes.pcolormesh(
                np.arange(len(row.weights) + 1) + (row.length - 2) / 2,
                [row.length - 0.5, row.length + 0.5],
                row.weights[None, :],
                norm=norm,
                cmap=SEQUENCE,
                edgecolors="white",
                linewidth=0.4,
            )
    axes.set(
        xlim=(-0.5, drawn.right),
        ylim=(drawn.lower, drawn.upper),
        yticks=drawn.lengths.positions,
    )
    print_ticks(axes, print_labels(visible_labels(drawn.memory)))
    print_titles(axes, f"{field_name(drawn.memory)} {noun(drawn.memory)}s", drawn.length_title)
    totals = axes.secondary_yaxis("right")
    totals.set_yticks(drawn.lengths.positions, [row.total for row in drawn.rows])
    totals.spines[:].set_visible(False)
    totals.tick_params(length=0, pad=3, labelsize=PRINT_FONT)
    print_scale(result, axes, ScalarMappable(norm, SEQUENCE), _UNIT, drawn.top, short=True)
    return result


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the map has spans of a text; a pyramid cannot show rectangles."""
    return fits_text(trace, focus) and trace.maps[focus.site].grid.height == 1


def _has_sizes(trace: Trace, focus: Focus) -> bool:
    """Return whether there is more than one row.

    With one row, the pyramid would show no more than an alignment matrix.
    """
    return trace.maps[focus.site].grid.max_width > 1


VIEW = view(
    "pyramid",
    "Area pyramid",
    "Which areas, short or long, receive the attention?",
    _fits,
    pyramid,
    figure,
    table,
    paper,
    how_to_read=(
        "The bottom row has the shortest areas, the rows above have longer ones. A brighter"
        " cell means more attention to the whole area. All rows have one colour scale. The"
        " number at the right is the row's total."
    ),
    leads=_has_sizes,
)

"""View of the weight of every span, drawn as a cell that is centred above its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing.base import Table, figure_caption, view_of_marks
from areaviz.drawing.labels import Ticks
from areaviz.drawing.marks import Axis, Cells, Mark, Panel, Plot, Raster, Scale
from areaviz.drawing.pictures import CELLS, PIXELS, average_blocks, compute_block_size
from areaviz.drawing.select import (
    fits_text,
    get_noun,
    list_visible_labels,
    name_field,
    quote_items,
    select,
)
from areaviz.drawing.theme import Drawing, round_up_scale
from areaviz.trace.areas import FloatArray, run_text
from areaviz.trace.query import find_smallest_area_size
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """The spans of one length."""

    # Length of the spans in items.
    length: int
    # Weights by first item: float32 [N - length + 1].
    weights: FloatArray

    @property
    def total(self) -> str:
        """Total weight of all spans of this length, as a percentage."""
        return _format_percent(float(self.weights.sum()))


@dataclass(frozen=True, slots=True, eq=False)
class Pyramid(Drawing):
    """Weights of the spans of a text."""

    memory: Field
    # Shown lengths in rising order.
    rows: Sequence[Row]

    @property
    def top(self) -> float:
        """Upper end of the colour scale of all rows, a round number."""
        return round_up_scale(max(float(row.weights.max()) for row in self.rows))

    @property
    def right(self) -> float:
        """Right edge of the last item. The left edge of the first item is -0.5."""
        return len(self.memory) - 0.5

    @property
    def lower(self) -> float:
        """Lower edge of the row of the shortest spans, 0.5 for single items."""
        return self.rows[0].length - 0.5

    @property
    def upper(self) -> float:
        """Upper edge of the row of the longest spans."""
        return self.rows[-1].length + 0.5

    @property
    def is_picture(self) -> bool:
        """Whether there are too many cells to draw them one by one."""
        return len(self.memory) > CELLS

    @property
    def lengths(self) -> Ticks:
        """Labels of the rows."""
        lengths = tuple(row.length for row in self.rows)
        return Ticks(lengths, tuple(map(str, lengths)))


def compute_pyramid(trace: Trace, focus: Focus) -> Pyramid:
    """Compute the weight of every span, averaged over the focused heads and queries.

    If the focus is on areas of several items, single items are left out.
    """
    chosen = select(trace, focus)
    weights_A = chosen.weights(list(chosen.queries))
    grid, shortest = chosen.attention.grid, find_smallest_area_size(chosen.attention, focus)
    rows = []
    for length in range(shortest, grid.max_width + 1):
        first, _, columns = grid.slab(1, length)
        rows.append(Row(length, weights_A[first : first + columns]))
    title = f"{chosen.subject}: weight of every area, {chosen.head_words}"
    # Columns are half an item wide, because spans of even length are centred between two items.
    block = compute_block_size(2 * len(chosen.memory))
    if len(chosen.memory) > CELLS and block > 1:
        title += f" · averaged {block / 2:g} items to a pixel"
    note = (
        f"each cell is one area, centred over the {get_noun(chosen.memory)}s it spans; all rows"
        f" have"
        " one colour scale; the number at the right is the row's total"
    )
    if shortest > 1:
        left_out = _format_percent(float(weights_A[: grid.items].sum()))
        note += f"; single {get_noun(chosen.memory)}s, {left_out} in all, are left out"
    return Pyramid(
        title=title,
        note=note,
        caption=figure_caption(trace, focus),
        memory=chosen.memory,
        rows=rows,
    )


def _format_percent(share: float) -> str:
    """Format a share as a percentage, with a decimal if it is small."""
    return f"{share:.0%}" if share >= 0.0995 or share == 0 else f"{share:.1%}"


def plot(drawn: Pyramid) -> Plot:
    """Draw the spans by start (across) and length (upwards), which form a pyramid."""
    lengths, memory = len(drawn.rows), drawn.memory
    across = Axis(
        title=f"{name_field(memory)} {get_noun(memory)}s",
        ends=(-0.5, drawn.right),
        labels=list_visible_labels(memory),
    )
    # For few rows, the title would be longer than the axis on screen.
    title = f"span length ({get_noun(memory)}s)"
    down = Axis(
        title=title,
        screen_title=title if lengths > 3 else "",
        ends=(drawn.lower, drawn.upper),
        ticks=drawn.lengths,
    )
    totals = Ticks(drawn.lengths.positions, tuple(row.total for row in drawn.rows))
    return Plot(
        drawing=drawn,
        panels=[Panel(marks=_make_marks(drawn), across=across, down=down, right=totals)],
        height=(float(np.clip(30 * lengths, 44, 320)), float(np.clip(0.25 * lengths, 0.5, 3))),
        above=8,
        below=28,
        scale=Scale(drawn.top, "weight", is_short=True),
    )


def _make_marks(drawn: Pyramid) -> list[Mark]:
    """Draw the spans of each length as a row of cells, each centred above the items it covers."""
    if drawn.is_picture:
        box = -0.5, drawn.upper, drawn.right, drawn.lower
        # The printed picture has more columns, because paper shows finer details.
        wide, wider = (_average_columns(drawn, limit)[::-1] for limit in (PIXELS, 2000))
        return [Raster(wide, box, print_values=wider)]
    cells: list[Mark] = []
    for row in drawn.rows:
        texts = []
        for start, weight in enumerate(row.weights.tolist()):
            words = quote_items(drawn.memory, range(start, start + row.length))
            where = run_text(get_noun(drawn.memory), start, row.length)
            texts.append(f"{words} {where}\n{weight:.2%} of the attention")
        left, top = (row.length - 2) / 2, row.length - 0.5
        cells.append(
            Cells(
                row.weights[None, :],
                [texts],
                left,
                top,
                gap=(1, 0.4),
            )
        )
    return cells


def to_half_columns(rows: Sequence[Row]) -> FloatArray:
    """Return the pyramid as a matrix [lengths, 2N] with columns of half an item.

    Values outside the pyramid are NaN.
    """
    items = len(rows[0].weights) + rows[0].length - 1
    halves = np.full((len(rows), 2 * items), np.nan, dtype=np.float32)
    for place, row in enumerate(rows):
        left = row.length - 1
        halves[place, left : left + 2 * len(row.weights)] = row.weights.repeat(2)
    return halves


def _average_columns(drawn: Pyramid, limit: int) -> FloatArray:
    """Return `to_half_columns` averaged to at most `limit` columns, shortest spans first."""
    halves = to_half_columns(drawn.rows)
    return average_blocks(halves, 1, compute_block_size(halves.shape[1], limit))


def tabulate(drawn: Pyramid) -> Table:
    """Return a table with a row per area: start (from 1), length, text and weight."""
    rows = []
    for row in drawn.rows:
        for start, weight in enumerate(row.weights.tolist()):
            quoted = quote_items(drawn.memory, range(start, start + row.length))
            rows.append((start + 1, row.length, quoted[1:-1], weight))
    return Table(("start", "length", "text", "weight"), rows)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the map has spans of a text. A pyramid cannot show rectangles."""
    return fits_text(trace, focus) and trace.maps[focus.site].grid.height == 1


def _has_sizes(trace: Trace, focus: Focus) -> bool:
    """Return whether the pyramid has more than one row.

    With one row, the pyramid would not show more than an alignment matrix.
    """
    return trace.maps[focus.site].grid.max_width > 1


VIEW = view_of_marks(
    "pyramid",
    "Area pyramid",
    "Which areas, short or long, receive the attention?",
    _fits,
    compute_pyramid,
    plot,
    tabulate,
    how_to_read=(
        "The bottom row has the shortest areas, the rows above have longer ones. A brighter"
        " cell means more attention to the whole area. All rows have one colour scale. The"
        " number at the right is the row's total."
    ),
    leads=_has_sizes,
)

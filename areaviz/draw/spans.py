"""Two views of the sizes of areas: the weight of every span, and the shares of each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.draw.labels import Ticks
from areaviz.draw.marks import Axis, Bars, Cells, Mark, Panel, Plot, Raster, Scale, Stroke
from areaviz.draw.pictures import CELLS, PIXELS, average_blocks, compute_block_size
from areaviz.draw.select import (
    fits_map,
    fits_text,
    get_noun,
    list_visible_labels,
    name_field,
    quote_items,
    select,
)
from areaviz.draw.theme import EDGE, Drawing, get_head_colour, round_up_scale
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray, run_text
from areaviz.trace.query import find_smallest_area_size
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# View of the weight of every span, drawn as a cell that is centred above its items.


@dataclass(frozen=True, slots=True, eq=False)
class PyramidRow:
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
    rows: Sequence[PyramidRow]

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
        rows.append(PyramidRow(length, weights_A[first : first + columns]))
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


def plot_pyramid(drawn: Pyramid) -> Plot:
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
        cells.append(Cells(row.weights[None, :], [texts], left, top, gap=(1, 0.4)))
    return cells


def to_half_columns(rows: Sequence[PyramidRow]) -> FloatArray:
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


def tabulate_pyramid(drawn: Pyramid) -> Table:
    """Return a table with a row per area: start (from 1), length, text and weight."""
    rows = []
    for row in drawn.rows:
        for start, weight in enumerate(row.weights.tolist()):
            quoted = quote_items(drawn.memory, range(start, start + row.length))
            rows.append((start + 1, row.length, quoted[1:-1], weight))
    return Table(("start", "length", "text", "weight"), rows)


def _fits_pyramid(trace: Trace, focus: Focus) -> bool:
    """Return whether the map has spans of a text. A pyramid cannot show rectangles."""
    return fits_text(trace, focus) and trace.maps[focus.site].grid.height == 1


def _has_sizes(trace: Trace, focus: Focus) -> bool:
    """Return whether the pyramid has more than one row.

    With one row, the pyramid would not show more than an alignment matrix.
    """
    return trace.maps[focus.site].grid.max_width > 1


PYRAMID = view_of_marks(
    "pyramid",
    "Area pyramid",
    "Which areas, short or long, receive the attention?",
    _fits_pyramid,
    compute_pyramid,
    plot_pyramid,
    tabulate_pyramid,
    how_to_read=(
        "The bottom row has the shortest areas, the rows above have longer ones. A brighter"
        " cell means more attention to the whole area. All rows have one colour scale. The"
        " number at the right is the row's total."
    ),
    leads=_has_sizes,
)


# View of the share of each head's attention to areas of each size.


_BROAD = 0.86


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Drawing):
    """Groups of bars, with one group per head and one bar per area size."""

    # Area sizes in items, in ascending order.
    sizes: tuple[int, ...]
    # Shares for K sizes, float32 [H, K]. The shares of a head sum to 1.
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
        """Return the positions of a head's bars, with a gap between heads."""
        count = len(self.sizes)
        pitch = count + max(1.0, 0.3 * count)
        return (head * pitch + np.arange(count)).astype(np.float32)

    def opacity(self, head: int) -> float:
        """Return the opacity of a head's bars. If a head is focused, only its bars are opaque."""
        return 1.0 if self.head in (None, head) else 0.35

    def ticks(self) -> Ticks:
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
        return Ticks(tuple(places), tuple(texts))


def compute_histogram(trace: Trace, focus: Focus) -> Histogram:
    """Return the shares over all queries, because only the average shows what a head prefers."""
    attention = trace.maps[focus.site]
    unit = get_noun(trace.fields[attention.memory])
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


def plot_sizes(drawn: Histogram) -> Plot:
    """Draw bars in the heads' colours. If a head is focused, the other heads are pale."""
    marks = []
    for head, shares in enumerate(drawn.shares):
        hovers = []
        for size, share in zip(drawn.sizes, shares.tolist(), strict=True):
            hovers.append(f"head {head + 1}, area size {size}\n{share:.1%} of the attention")
        bars = Bars(
            drawn.x(head),
            shares,
            get_head_colour(head),
            _BROAD,
            opacity=drawn.opacity(head),
            edge=Stroke(EDGE, (0.5, 0.4)),
            hovers=hovers,
        )
        marks.append(bars)
    across = Axis(title=drawn.across, ticks=drawn.ticks())
    down = Axis(title="share of attention", has_grid=True, is_share=True)
    panel = Panel(marks=marks, across=across, down=down)
    return Plot(drawing=drawn, panels=[panel], height=(240, 1.9), above=8, below=66)


def tabulate_sizes(drawn: Histogram) -> Table:
    """Return a table with a row per head and area size."""
    rows = []
    for head, shares in enumerate(drawn.shares.tolist(), 1):
        rows += [(head, size, share) for size, share in zip(drawn.sizes, shares, strict=True)]
    return Table(("head", "area size", "share"), rows)


def _fits_sizes(trace: Trace, focus: Focus) -> bool:
    """Return whether there is more than one area size."""
    if not fits_map(trace, focus):
        return False
    grid = trace.maps[focus.site].grid
    return max(grid.max_height, grid.max_width) > 1


SIZE_SHARES = view_of_marks(
    "sizes",
    "Area sizes",
    "Does a head attend to single items or to longer areas?",
    _fits_sizes,
    compute_histogram,
    plot_sizes,
    tabulate_sizes,
    how_to_read=(
        "Each bar shows how much of a head's attention goes to areas of one size. The leftmost bar "
        "is for single items. If it holds everything, the head attends to single items only."
    ),
)

"""A labelled matrix on one colour scale, on screen and in print, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Heatmap, Scatter

from areaviz.drawing.axes import (
    add_heatmap_image,
    add_outline,
    depth,
    print_labels,
    print_scale,
    print_signed_scale,
    print_ticks,
    print_titles,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Row, Table
from areaviz.drawing.labels import LONGEST, escape
from areaviz.drawing.pictures import CELLS, Box, average_blocks, block_size
from areaviz.drawing.select import neighbours
from areaviz.drawing.theme import (
    DIVERGING,
    SECOND,
    SEQUENCE,
    Drawing,
    axis,
    colour_axis,
    nice_top,
    print_figure,
    screen_figure,
    signed_axis,
)
from areaviz.trace.record import FloatArray


@dataclass(frozen=True, slots=True)
class Outlined:
    """The outlined area of a row."""

    # Columns, the end exclusive.
    start: int
    end: int
    # Text, number of items and share (0..1) of the area, for the table.
    text: str
    items: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Matrix(Drawing):
    """A labelled matrix with one colour scale."""

    # float32 [R, C], NaN for no value.
    values: FloatArray
    # Visible labels.
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    # Titles of the axes.
    row_title: str
    column_title: str
    # Meaning of the values, next to the colour bar.
    unit: str
    # End of the scale.
    top: float
    # Rows and columns that get a frame.
    marked_rows: tuple[int, ...] = ()
    marked_columns: tuple[int, ...] = ()
    # Maximum number of characters of a row's label.
    longest: int = LONGEST
    # Number of rows and columns that each value averages.
    row_block: int = 1
    column_block: int = 1
    # Whether values are log₂ ratios on a scale from -top to top.
    is_signed: bool = False
    # Name of the outlined areas, and for each row its area or None; () for no outlines.
    outline: str = ""
    outlined: Sequence[Outlined | None] = ()

    @property
    def right(self) -> float:
        """Right edge of the last column; the first one begins at -0.5."""
        return len(self.columns) - 0.5

    @property
    def bottom(self) -> float:
        """Lower edge of the last row; the first one begins at -0.5."""
        return len(self.rows) - 0.5

    @property
    def bottom_of_scale(self) -> float:
        """Start of the scale."""
        return -self.top if self.is_signed else 0.0

    @property
    def has_numbers(self) -> bool:
        """Whether the table lists the outlined areas; this is not possible for averaged rows."""
        return bool(self.outlined) and self.row_block == 1

    @property
    def is_picture(self) -> bool:
        """Whether there are too many rows or columns to draw cells and outlines one by one."""
        return max(len(self.rows), len(self.columns)) > CELLS


def reduced(matrix: Matrix) -> Matrix:
    """Average a matrix to the maximum size of a picture, and say so in its title."""
    rows, columns = (block_size(side) for side in matrix.values.shape)
    if rows == columns == 1:
        return matrix
    values = average_blocks(matrix.values, rows, columns)
    return replace(
        matrix,
        title=f"{matrix.title} · averaged {rows}×{columns} to a pixel",
        values=values,
        top=matrix.top if matrix.is_signed else min(matrix.top, nice_top(float(values.max()))),
        row_block=rows,
        column_block=columns,
    )


def draw(matrix: Matrix) -> Figure:
    """Draw the matrix for the screen: cells with hover text, or a picture if there are too many."""
    shown = reduced(matrix)
    rows, columns = len(shown.rows), len(shown.columns)
    height = matrix_height_px(rows)
    across = screen_labels(shown.columns)
    down = screen_labels(shown.rows, height, True, shown.longest)
    figure = screen_figure(
        shown,
        height,
        above=depth(across) + 24,
        below=8,
        across=axis(
            shown.column_title, side="top", range=[-0.5, shown.right], **screen_ticks(across)
        ),
        down=axis(shown.row_title, range=[shown.bottom, -0.5], **screen_ticks(down)),
        labels={"xaxis": shown.columns},
        coloraxis=(
            signed_axis(shown.top, shown.unit)
            if shown.is_signed
            else colour_axis(shown.top, shown.unit, short=height < 130)
        ),
        shapes=[add_outline(*box) for box in _frames(shown)],
    )
    if shown.is_picture:
        box = -0.5, -0.5, columns, rows
        add_heatmap_image(figure, shown.values, shown.top, box, shown.is_signed)
    else:
        # Gaps between many cells would fill much of the figure.
        gap = 1 if max(shown.values.shape) <= 48 else 0
        figure.add_trace(
            Heatmap(
                z=shown.values,
                text=pair_texts(shown.rows, shown.columns),
                coloraxis="coloraxis",
                xgap=gap,
                ygap=gap,
                hovertemplate="%{text}<br>%{customdata}<extra></extra>",
                customdata=value_texts(shown),
            )
        )
        figure.add_traces(_outlines(shown))
    return figure


def value_texts(matrix: Matrix) -> list[list[str]]:
    """Write the hover text of every value: a percentage, or a multiple of the average."""
    if matrix.is_signed:
        return [[f"{2.0**value:.2g} times the average" for value in row] for row in matrix.values]
    return [[f"{value:.1%}" for value in row] for row in matrix.values]


def _outlines(matrix: Matrix) -> list[Scatter]:
    """Draw a line around the outlined area of each row, light on dark to be visible on any cell."""
    x: list[float | None] = []
    y: list[float | None] = []
    for left, top, width, height in _outline_boxes(matrix):
        right, bottom = left + width, top + height
        x += [left, right, right, left, left, None]
        y += [top, top, bottom, bottom, top, None]
    if not x:
        return []
    found = []
    for colour, width in (("#202020", 3.2), ("#FFFFFF", 1.4)):
        line = {"color": colour, "width": width}
        found.append(Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip"))
    return found


def _outline_boxes(matrix: Matrix) -> Iterator[Box]:
    """Yield left, top, width and height of the outlines, just inside their cells."""
    for row, one in enumerate(matrix.outlined):
        if one is not None:
            yield one.start - 0.44, row - 0.42, one.end - one.start - 0.12, 0.84


def matrix_height_px(rows: int) -> float:
    """Return the height of a matrix in px.

    Few rows are drawn tall. Many rows shrink to the height of a label.
    """
    return float(np.clip(21 * rows, 84, np.clip(14.5 * rows, 460, 800)))


def pair_texts(rows: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    """Write the hover text of every cell: its row and its column, escaped for Plotly."""
    names = [escape(column) for column in columns]
    return [[f"{escape(row)} → {name}" for name in names] for row in rows]


def draw_print(matrix: Matrix) -> PrintFigure:
    """Draw the matrix for print."""
    shown = reduced(matrix)
    height = float(np.clip(0.17 * len(shown.rows), 0.6, 5.5))
    figure, axes = print_figure(shown, height)
    cells = _print_cells(axes, shown)
    print_ticks(axes, print_labels(shown.columns), top=True)
    down = print_labels(shown.rows, 72 * height, True, matrix.longest)
    axes.set_yticks(down.positions, down.texts)
    print_titles(axes, shown.column_title, shown.row_title)
    for x, y, width, high in _frames(shown):
        axes.add_patch(
            Rectangle(
                (x, y),
                width,
                high,
                fill=False,
                edgecolor=SECOND,
                linewidth=1.2,
            )
        )
    if not shown.is_picture:
        for x, y, width, high in _outline_boxes(shown):
            for colour, thick in (("#202020", 1.5), ("#FFFFFF", 0.7)):
                box = Rectangle((x, y), width, high, fill=False, edgecolor=colour, linewidth=thick)
                axes.add_patch(box)
    if shown.is_signed:
        print_signed_scale(figure, axes, cells, shown.unit, shown.top)
    else:
        print_scale(figure, axes, cells, shown.unit, shown.top, short=height < 1)
    return figure


def tabulate(matrix: Matrix) -> Table:
    """Tabulate the values: one row per row of the matrix, one column per column or block."""
    shown = reduced(matrix)
    names = _names(shown.rows, shown.row_block) if shown.row_title else shown.rows
    columns = (shown.row_title or "row", *_names(shown.columns, shown.column_block))
    rows: list[Row] = []
    for number, (name, values) in enumerate(zip(names, shown.values.tolist(), strict=True)):
        rows.append((name, *_numbers(shown, number), *values))
    if shown.has_numbers:
        columns = (columns[0], shown.outline, "items in it", "its share", *columns[1:])
    return Table(columns, rows)


def _numbers(matrix: Matrix, row: int) -> Row:
    """Return the table cells that describe a row's outlined area."""
    if not matrix.has_numbers:
        return ()
    one = matrix.outlined[row]
    return ("none", 0, 0.0) if one is None else (one.text, one.items, one.share)


def _print_cells(axes: Axes, matrix: Matrix) -> ScalarMappable:
    values, low, top = matrix.values, matrix.bottom_of_scale, matrix.top
    cmap = DIVERGING if matrix.is_signed else SEQUENCE
    right, bottom = matrix.right, matrix.bottom
    rows, columns = values.shape
    # Draw large matrices as pixels, which keeps files small in vector formats too.
    if values.size > 2500 or max(rows, columns) > CELLS:
        return axes.imshow(
            values,
            cmap,
            vmin=low,
            vmax=top,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, right, bottom, -0.5),
        )
    mesh = axes.pcolormesh(
        np.linspace(-0.5, right, columns + 1),
        np.linspace(-0.5, bottom, rows + 1),
        values,
        cmap=cmap,
        vmin=low,
        vmax=top,
        edgecolors="white",
        linewidth=0.4,
    )
    axes.set(xlim=(-0.5, right), ylim=(bottom, -0.5))
    return mesh


def _frames(matrix: Matrix) -> Iterator[Box]:
    """Yield left, top, width and height of every run of marked rows or columns."""
    width, height = len(matrix.columns), len(matrix.rows)
    for start, end in neighbours(sorted(set(matrix.marked_rows))):
        yield -0.5, start - 0.5, width, end - start
    for start, end in neighbours(sorted(set(matrix.marked_columns))):
        yield start - 0.5, -0.5, end - start, height


def _names(labels: Sequence[str], block: int) -> list[str]:
    """Return a unique name for every row or column, such as "3 a", or "9-16" for a block."""
    if block == 1:
        return [f"{number} {label}" for number, label in enumerate(labels, 1)]
    return block_names(len(labels), block)


def block_names(count: int, block: int) -> list[str]:
    """Name blocks of `block` items, counted from 1: "9-16"."""
    return [f"{i + 1}-{min(i + block, count)}" for i in range(0, count, block)]

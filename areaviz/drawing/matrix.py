"""A labelled matrix on one colour scale, and its numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.drawing.base import Row, Table
from areaviz.drawing.labels import MAX_LABEL_CHARACTERS
from areaviz.drawing.marks import (
    FOCUSED,
    Axis,
    Cells,
    Frame,
    Mark,
    Panel,
    Path,
    Plot,
    Raster,
    Scale,
    Stroke,
)
from areaviz.drawing.pictures import CELLS, Box, average_blocks, compute_block_size
from areaviz.drawing.select import group_neighbours
from areaviz.drawing.theme import Drawing, round_up_scale
from areaviz.trace.areas import FloatArray


@dataclass(frozen=True, slots=True)
class Outlined:
    """The outlined area of a row."""

    # First column and end (exclusive).
    start: int
    end: int
    # Text, number of items and share (0..1) of the area, for the table.
    text: str
    items: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Matrix(Drawing):
    """A labelled matrix with one colour scale."""

    # float32 [R, C]. NaN means no value.
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
    longest: int = MAX_LABEL_CHARACTERS
    # Number of rows and columns that each value averages.
    row_block: int = 1
    column_block: int = 1
    # Whether values are log₂ ratios on a scale from -top to top.
    is_signed: bool = False
    # Name of the outlined areas, and the area of each row or None. Both are empty without outlines.
    outline: str = ""
    outlined: Sequence[Outlined | None] = ()

    @property
    def right(self) -> float:
        """Right edge of the last column. The first column begins at -0.5."""
        return len(self.columns) - 0.5

    @property
    def bottom(self) -> float:
        """Lower edge of the last row. The first row begins at -0.5."""
        return len(self.rows) - 0.5

    @property
    def has_numbers(self) -> bool:
        """Whether the table lists the outlined areas, which it cannot do for averaged rows."""
        return bool(self.outlined) and self.row_block == 1

    @property
    def is_picture(self) -> bool:
        """Whether there are too many rows or columns to draw cells and outlines one by one."""
        return max(len(self.rows), len(self.columns)) > CELLS


def reduce_matrix(matrix: Matrix) -> Matrix:
    """Return a matrix that is averaged to the maximum size of a picture. Its title says so."""
    rows, columns = (compute_block_size(side) for side in matrix.values.shape)
    if rows == columns == 1:
        return matrix
    values = average_blocks(matrix.values, rows, columns)
    return replace(
        matrix,
        title=f"{matrix.title} · averaged {rows}×{columns} to a pixel",
        values=values,
        top=matrix.top
        if matrix.is_signed
        else min(matrix.top, round_up_scale(float(values.max()))),
        row_block=rows,
        column_block=columns,
    )


def plot_matrix(matrix: Matrix, numbers: Sequence[Mark] = ()) -> Plot:
    """Return the plot of a matrix: cells with hover texts, or a picture if there are too many.

    Args:
        matrix: the matrix.
        numbers: texts on the cells.
    """
    shown = reduce_matrix(matrix)
    rows, columns = len(shown.rows), len(shown.columns)
    across = Axis(title=shown.column_title, ends=(-0.5, shown.right), labels=shown.columns)
    down = Axis(
        title=shown.row_title,
        ends=(shown.bottom, -0.5),
        labels=shown.rows,
        longest=shown.longest,
    )
    marks: list[Mark] = []
    if shown.is_picture:
        marks.append(Raster(shown.values, (-0.5, -0.5, columns - 0.5, rows - 0.5)))
    else:
        # Gaps between many cells would fill much of the figure.
        gap = 1 if max(shown.values.shape) <= 48 else 0
        marks.append(Cells(shown.values, make_cell_texts(shown), gap=(gap, 0.4)))
        marks += _draw_outlines(shown)
    marks += [Frame(*box, FOCUSED) for box in _iterate_frames(shown)]
    return Plot(
        drawing=shown,
        panels=[Panel(marks=[*marks, *numbers], across=across, down=down, is_across_on_top=True)],
        height=(matrix_height_px(rows), float(np.clip(0.17 * rows, 0.6, 5.5))),
        above=24,
        below=8,
        scale=Scale(shown.top, shown.unit, shown.is_signed, is_short=None),
    )


def make_cell_texts(matrix: Matrix) -> list[list[str]]:
    """Return the hover text of every cell, with row, column, and share or multiple of the mean."""
    texts = []
    for row, values in zip(matrix.rows, matrix.values.tolist(), strict=True):
        cells = []
        for column, value in zip(matrix.columns, values, strict=True):
            said = f"{2.0**value:.2g} times the average" if matrix.is_signed else f"{value:.1%}"
            cells.append(f"{row} → {column}\n{said}")
        texts.append(cells)
    return texts


def _draw_outlines(matrix: Matrix) -> list[Path]:
    """Return a line around the outlined area of each row, light with a dark edge."""
    x: list[float] = []
    y: list[float] = []
    for row, one in enumerate(matrix.outlined):
        if one is not None:
            # The line is just inside the cells.
            left, right, top, bottom = one.start - 0.44, one.end - 0.56, row - 0.42, row + 0.42
            x += [left, right, right, left, left, math.nan]
            y += [top, top, bottom, bottom, top, math.nan]
    light, dark = Stroke("#FFFFFF", (1.4, 0.7)), Stroke("#202020", (3.2, 1.5))
    return [Path(x, y, light, dark)] if x else []


def matrix_height_px(rows: int) -> float:
    """Return the height of a matrix in px.

    A few rows are tall. Many rows have only the height of a label.
    """
    return float(np.clip(21 * rows, 84, np.clip(14.5 * rows, 460, 800)))


def tabulate(matrix: Matrix) -> Table:
    """Return the values as a table, with the rows and columns of the matrix or of its blocks."""
    shown = reduce_matrix(matrix)
    names = _make_unique_names(shown.rows, shown.row_block) if shown.row_title else shown.rows
    columns = (shown.row_title or "row", *_make_unique_names(shown.columns, shown.column_block))
    rows: list[Row] = []
    for number, (name, values) in enumerate(zip(names, shown.values.tolist(), strict=True)):
        rows.append((name, *_list_numbers(shown, number), *values))
    if shown.has_numbers:
        columns = (columns[0], shown.outline, "items in it", "its share", *columns[1:])
    return Table(columns, rows)


def _list_numbers(matrix: Matrix, row: int) -> Row:
    """Return the table cells that describe a row's outlined area."""
    if not matrix.has_numbers:
        return ()
    one = matrix.outlined[row]
    return ("none", 0, 0.0) if one is None else (one.text, one.items, one.share)


def _iterate_frames(matrix: Matrix) -> Iterator[Box]:
    """Yield left, top, width and height of every run of marked rows or columns."""
    width, height = len(matrix.columns), len(matrix.rows)
    for start, end in group_neighbours(sorted(set(matrix.marked_rows))):
        yield -0.5, start - 0.5, width, end - start
    for start, end in group_neighbours(sorted(set(matrix.marked_columns))):
        yield start - 0.5, -0.5, end - start, height


def _make_unique_names(labels: Sequence[str], block: int) -> list[str]:
    """Return a unique name for every row or column, such as "3 a", or "9-16" for a block."""
    if block == 1:
        return [f"{number} {label}" for number, label in enumerate(labels, 1)]
    return name_blocks(len(labels), block)


def name_blocks(count: int, block: int) -> list[str]:
    """Return names of blocks of `block` items, counted from 1, such as "9-16"."""
    return [f"{i + 1}-{min(i + block, count)}" for i in range(0, count, block)]

"""Labelled matrices, and two views that are matrices: alignment, and coverage of every head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.draw.labels import MAX_LABEL_CHARACTERS
from areaviz.draw.marks import (
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
from areaviz.draw.pictures import CELLS, Box, average_blocks, compute_block_size
from areaviz.draw.select import (
    FocusedMap,
    Runs,
    fits_text,
    get_noun,
    group_labels,
    group_neighbours,
    group_words,
    list_visible_labels,
    name_field,
    quote_items,
    select,
)
from areaviz.draw.theme import Drawing, round_up_scale
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import find_area_of_each, map_of
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

# A labelled matrix on one colour scale, and its numbers as a table.


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
        title=shown.row_title, ends=(shown.bottom, -0.5), labels=shown.rows, longest=shown.longest
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


def tabulate_matrix(matrix: Matrix) -> Table:
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


# Two views that are matrices: the alignment of two texts, and the coverage of every head.
#
# The alignment matrix shows what each produced item attends to (Bahdanau et al. 2015, Fig. 3). The
# coverage strip shows how much attention every memory item receives.


OUTLINES = {"heaviest": "heaviest area", "coverage": "", "densest": "densest area"}
"""Name of the outlined area for each reading, or "" for no outline."""
MAX_RATIO = 3.0
"""End of the colour scale relative to the average, as a log₂ ratio."""


def build_alignment(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of item shares [Q, N], with the area of the reading outlined.

    A reading is a way to find an area, such as the heaviest or the densest one. Row t belongs to
    the item produced at step t. With `focus.unit` "word", rows and columns are words. Relative to
    the head's average, the values are log₂ ratios.
    """
    chosen = select(trace, focus)
    rows = group_words(chosen.query, focus.unit)
    columns = group_words(chosen.memory, focus.unit)
    place = chosen.attention, chosen.layer, chosen.head
    values = map_of(*place, focus.against, rows, columns)
    attends, unit = name_field(chosen.query), "word" if focus.unit == "word" else "item"
    is_signed = focus.against == "average"
    by_query = focus.side == "query"
    runs, items = rows if by_query else columns, set(focus.items)
    marked = tuple(n for n, run in enumerate(runs) if not items.isdisjoint(range(*run)))
    outline = "" if is_signed else OUTLINES[focus.reading]
    against = " against the head's average" if is_signed else ""
    return Matrix(
        title=f"What every {attends} {unit} attends to{against}, {chosen.head_words}",
        note=_make_note(focus, outline),
        caption=figure_caption(trace, focus),
        values=values,
        rows=group_labels(chosen.query, rows),
        columns=group_labels(chosen.memory, columns),
        row_title=f"{attends} {unit}s",
        column_title=f"{name_field(chosen.memory)} {unit}s",
        unit="times the average" if is_signed else "share of row",
        top=MAX_RATIO if is_signed else _find_top(values),
        marked_rows=marked if by_query else (),
        marked_columns=() if by_query else marked,
        is_signed=is_signed,
        outline=outline,
        outlined=_find_outlined(chosen, focus, rows, columns) if outline else (),
    )


def _make_note(focus: Focus, outline: str) -> str:
    """Explain how to read the matrix."""
    if focus.against == "average":
        return "orange: more than the head does on average over all rows, blue: less"
    note = "a row sums to 100%: coverage divided by the row's total"
    if focus.unit == "word":
        note += "; a word counts with the blank before it"
    if outline:
        note += f"; outlined: the {outline} of each row"
    if focus.reading == "densest":
        note += f", the smallest that holds at least {focus.mass}%"
    return note


def _find_outlined(
    chosen: FocusedMap, focus: Focus, rows: Runs, columns: Runs
) -> list[Outlined | None]:
    """Return the area that the reading finds in each row, as the columns that it covers."""
    column_of = {item: n for n, run in enumerate(columns) for item in range(*run)}
    found: list[Outlined | None] = []
    for one in find_area_of_each(chosen.attention, focus, rows):
        if one is None:
            found.append(None)
            continue
        items = range(one.area.left, one.area.left + one.area.width)
        text = quote_items(chosen.memory, items)[1:-1]
        ends = column_of[items[0]], column_of[items[-1]] + 1
        found.append(Outlined(*ends, text, len(items), one.weight))
    return found


def build_coverage(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of coverage [H, N], averaged over the focused queries.

    If no query is focused, the mean is over all queries.
    """
    chosen = select(trace, focus)
    heads, queries = range(chosen.attention.heads), list(chosen.queries)
    rows = [query.coverage(chosen.attention, chosen.layer, head)[queries].mean(0) for head in heads]
    values = np.stack(rows)
    return Matrix(
        title=f"{chosen.subject}: coverage by head",
        note=(
            f"coverage: attention on the areas that hold the {get_noun(chosen.memory)}; a row"
            f" sums to"
            " the mean area size, not to 100%"
        ),
        caption=figure_caption(trace, replace(focus, head=None)),
        values=values,
        rows=tuple(f"head {head + 1}" for head in heads),
        columns=list_visible_labels(chosen.memory),
        row_title="",
        column_title=f"{name_field(chosen.memory)} {get_noun(chosen.memory)}s",
        unit="coverage",
        top=_find_top(values),
        marked_rows=() if focus.head is None else (focus.head,),
        marked_columns=focus.items if focus.side == "memory" else (),
    )


def _find_top(values: FloatArray) -> float:
    return min(1.0, round_up_scale(float(values.max())))


ALIGNMENT = view_of_marks(
    "alignment",
    "Alignment matrix",
    "Which items does every produced item attend to?",
    fits_text,
    build_alignment,
    plot_matrix,
    tabulate_matrix,
    how_to_read=(
        "Rows are output items, columns are the items they can attend to. Brighter means more"
        " attention. A diagonal means that the model follows the order of the text."
    ),
)
COVERAGE = view_of_marks(
    "coverage",
    "Coverage strip",
    "How much of each head's attention does every item receive?",
    fits_text,
    build_coverage,
    plot_matrix,
    tabulate_matrix,
    how_to_read=(
        "One row per head. Brighter means that the item received more of the head's"
        " attention, summed over areas of every size."
    ),
    leads=lambda trace, focus: False,
)

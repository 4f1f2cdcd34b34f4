"""Lesson 4: the summed area table, step by step: the sum of any rectangle from four corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, padded_table
from areaviz.lessons.board import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    Board,
    tint,
)
from areaviz.lessons.grid_figure import holds
from areaviz.trace.areas import Area, AreaGrid

MEMORY: Floats = np.array([[2.0, 1, 3, 2], [4, 0, 1, 5], [1, 3, 2, 1]])
STEPS = ("Numbers", "Along rows", "Down columns", "Zeros around", "Four corners")
GAP = 1.0


@dataclass(frozen=True, slots=True)
class Corners:
    """The four entries of the padded table round an area (Algorithm 1), and the rectangles they
    sum.

    i1: whole rectangle from the top left of the memory; i2: counted twice when both others go; i3:
    the part left of the area; i4: the part above it.
    """

    i1: float
    i2: float
    i3: float
    i4: float

    @property
    def total(self) -> float:
        """The area's sum: I1 + I2 - I3 - I4."""
        return self.i1 + self.i2 - self.i3 - self.i4


def stage(step: int) -> Floats:
    """The table as it stands after step 0..4 of `STEPS`."""
    along = np.cumsum(MEMORY, axis=1)
    padded = padded_table(MEMORY[..., None])[..., 0]
    return (MEMORY, along, np.cumsum(along, axis=0), padded, padded)[step]


def corners(area: Area) -> Corners:
    """The four corners of an area in the padded table."""
    table, bottom, right = stage(4), area.top + area.height, area.left + area.width
    pairs = ((bottom, right), (area.top, area.left), (bottom, area.left), (area.top, right))
    return Corners(*(float(table[row, column]) for row, column in pairs))


def summed(step: int, area: Area) -> Area:
    """Which items the lit entry of the table sums: the entry is the area's lower right corner."""
    if step == 0:
        return Area(area.top + area.height - 1, area.left + area.width - 1, 1, 1)
    if step == 1:
        return Area(area.top + area.height - 1, 0, 1, area.left + area.width)
    return area if step == 4 else Area(0, 0, area.top + area.height, area.left + area.width)


def figure(step: int, area: Area) -> Figure:
    """What does one entry of the table sum? The memory on the left, the table so far on
    the right.
    """
    rows, columns = MEMORY.shape
    board = Board(-0.05, -0.7, 2 * columns + GAP + 1.1, rows + 1.05, cell=54)
    source = summed(step, area)
    top = 1 if step >= 3 else 0
    for row in range(rows):
        for column in range(columns):
            lit, text = holds(source, row, column), f"{MEMORY[row, column]:g}"
            fill = ORANGE if lit else _taken_away(step, area, row, column)
            board.box(column, row + top, fill, text, ink=INK if lit else None, size=16)
    board.text(columns / 2, top - 0.35, "memory")
    _draw_table(board, step, area, columns + GAP)
    return board.figure()


def corners_equation(area: Area) -> str:
    """I1 + I2 - I3 - I4 with the area's numbers, coloured like the corners (LaTeX)."""
    found = corners(area)
    names = (
        r"\textcolor{#0072B2}{I_1} + \textcolor{#009E73}{I_2} - \textcolor{#D55E00}{I_3} -"
        r" \textcolor{#CC79A7}{I_4}"
    )
    numbers = (
        rf"\textcolor{{#0072B2}}{{{found.i1:g}}} + \textcolor{{#009E73}}{{{found.i2:g}}} - "
        rf"\textcolor{{#D55E00}}{{{found.i3:g}}} - \textcolor{{#CC79A7}}{{{found.i4:g}}}"
    )
    return (
        rf"\begin{{aligned}}\text{{sum}} &= {names} \\ &= {numbers} ="
        rf" \mathbf{{{found.total:g}}}\end{{aligned}}"
    )


def entry_equation(step: int, area: Area) -> str:
    """How the lit entry of steps 1 to 3 follows from the step before (LaTeX)."""
    row, column = area.top + area.height - 1, area.left + area.width - 1
    parts = MEMORY[row, : column + 1] if step == 1 else stage(1)[: row + 1, column]
    return f"{' + '.join(f'{part:g}' for part in parts)} = \\mathbf{{{parts.sum():g}}}"


def table(step: int) -> Table:
    """The table so far, row by row."""
    values, first = stage(step), 0 if step >= 3 else 1
    rows = [
        (f"row {number}", *(f"{value:g}" for value in row))
        for number, row in enumerate(values, start=first)
    ]
    return Table(("", *(f"column {number + first}" for number in range(values.shape[1]))), rows)


def grid() -> AreaGrid:
    """Every rectangle of the memory, the whole memory included."""
    rows, columns = MEMORY.shape
    return AreaGrid(rows, columns, rows, columns)


def _draw_table(board: Board, step: int, area: Area, x0: float) -> None:
    values = stage(step)
    lit = _lit(step, area)
    for (row, column), value in np.ndenumerate(values):
        fill, name = lit.get((row, column), (_background(step, row, column), ""))
        ink = INK if (row, column) in lit else None
        board.box(x0 + column, row, fill, f"{value:g}", ink=ink, size=16)
        if name:
            board.text(x0 + column + 0.2, row + 0.2, name, size=10, ink=INK)
        if row >= int(step >= 3) and column >= int(step >= 3):
            item = (row - int(step >= 3)) * MEMORY.shape[1] + column - int(step >= 3)
            board.hit(x0 + column + 0.5, row + 0.5, "click: lower right corner of the area", item)
    board.text(x0 + values.shape[1] / 2, -0.35, "table" if step else "the same, to begin with")


def _lit(step: int, area: Area) -> dict[tuple[int, int], tuple[str, str]]:
    shift = 0 if step >= 3 else 1
    bottom, right = area.top + area.height - shift, area.left + area.width - shift
    if step < 4:
        return {(bottom, right): (ORANGE, "")}
    return {
        (area.top, right): (PURPLE, "−"),
        (bottom, area.left): (VERMILION, "−"),
        (area.top, area.left): (GREEN, "+"),
        (bottom, right): (SKY, "+"),
    }


def _taken_away(step: int, area: Area, row: int, column: int) -> str:
    """The corner's colour on the items it sums that are not the area's, once the
    corners are lit.
    """
    if step < 4 or row >= area.top + area.height or column >= area.left + area.width:
        return QUIET
    left, above = column < area.left, row < area.top
    return tint(GREEN if left and above else VERMILION if left else PURPLE, 0.3)


def _background(step: int, row: int, column: int) -> str:
    return tint(BLUE, 0.18) if step == 3 and (row == 0 or column == 0) else QUIET

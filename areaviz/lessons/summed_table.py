"""Lesson 9: the summed area table, and the sum of any rectangle from four corners (Algorithm 1)."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, holds, padded_table
from areaviz.lessons.page_parts import as_table, columns, pick_area, picture, reach_to
from areaviz.lessons.pictures import (
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
from areaviz.trace.areas import Area, AreaGrid

MEMORY: Floats = np.array([[2.0, 1, 3, 2], [4, 0, 1, 5], [1, 3, 2, 1]])
GRID = AreaGrid(*MEMORY.shape, *MEMORY.shape)
"""Every rectangle of the memory, the whole memory included."""
STEPS = ("Numbers", "Along rows", "Down columns", "Zeros around", "Four corners")
GAP = 1.0
"""Cells between the memory and the table in the picture."""

_WORDS = (
    (
        "Adding up the items of every area again and again repeats most of the work. The papers"
        " build one table instead, in which the sum of any rectangle takes four numbers. We start"
        " with the memory itself."
    ),
    "**Add along each row**, from left to right: an entry is now the sum of its row up to there.",
    (
        "**Then add down each column**: an entry is now the sum of the whole rectangle from the top"
        " left corner of the memory to there."
    ),
    (
        "**Put zeros** above and to the left, so that areas at the border have four corners too."
        " Row 0 and column 0 stand for the sum of nothing."
    ),
    (
        "**Four corners** give the sum of any area. $\\textcolor{#0072B2}{I_1}$ sums all up to its"
        " lower right end. Take away what lies left of the area, $\\textcolor{#D55E00}{I_3}$, and"
        " what lies above it, $\\textcolor{#CC79A7}{I_4}$. What is both left and above went twice,"
        " so put it back: $\\textcolor{#009E73}{I_2}$."
    ),
)


@st.fragment
def show() -> None:
    """Five steps from the numbers to the four corners, for an area of the reader's choice."""
    names = [f"{number}. {name}" for number, name in enumerate(STEPS, start=1)]
    name = st.segmented_control("Step", names, default=names[-1], required=True, key="table-step")
    step = names.index(name)
    left, right = columns()
    with left:
        chosen = pick_area("table", GRID, Area(0, 1, 3, 3))
        question = (
            "What does one entry of the table sum? The memory on the left, the table so far on the"
            " right."
        )
        picture(figure(step, chosen), "table", question, partial(reach_to, "table", GRID))
        st.caption("Click an entry of the table: the area reaches to it.")
    with right:
        st.markdown(_WORDS[step])
        _numbers(step, chosen)
        as_table(table(step), "table")


def _numbers(step: int, chosen: Area) -> None:
    if step in (1, 2):
        st.markdown("The lit entry, from the numbers of the step before:")
    if step == 3:
        st.markdown("The lit entry is still")
    if step in (1, 2, 3):
        st.latex(entry_equation(step, chosen))
    if step == 4:
        st.latex(corners_equation(chosen))
        st.markdown(
            f"Start with the {chosen.size} lit items: {chosen.size - 1}"
            f" addition{'' if chosen.size == 2 else 's'} one by one, three by the table, however"
            " large the area is."
        )


def stage(step: int) -> Floats:
    """The table as it stands after step 0..4 of `STEPS`."""
    along = np.cumsum(MEMORY, axis=1)
    padded = padded_table(MEMORY[..., None])[..., 0]
    return (MEMORY, along, np.cumsum(along, axis=0), padded, padded)[step]


def corners(area: Area) -> list[float]:
    """The entries I1 to I4 of the padded table round an area (Algorithm 1).

    I1 sums the whole rectangle from the top left of the memory to the area's end, I3 what lies left
    of the area, I4 what lies above it, and I2 what I3 and I4 both hold: the area's sum is I1 + I2 -
    I3 - I4.
    """
    # From the step with the zeros on, areas at the border have four corners too.
    table_HW = stage(4)
    return [float(table_HW[place]) for place in corner_places(area)]


def summed(step: int, area: Area) -> Area:
    """Which items the lit entry of the table sums: the entry is the area's lower right corner."""
    bottom = area.top + area.height
    right = area.left + area.width
    if step == 0:
        return Area(bottom - 1, right - 1, 1, 1)
    if step == 1:
        return Area(bottom - 1, 0, 1, right)
    return area if step == 4 else Area(0, 0, bottom, right)


def figure(step: int, area: Area) -> Figure:
    """What does one entry of the table sum? The memory on the left, the table on the right."""
    rows, columns = MEMORY.shape
    board = Board(-0.05, -0.7, 2 * columns + GAP + 1.1, rows + 1.05, cell=54)
    source = summed(step, area)
    top = _first(step)
    for (row, column), value in np.ndenumerate(MEMORY):
        lit = holds(source, row, column)
        fill = ORANGE if lit else _taken_away(step, area, row, column)
        board.box(column, row + top, fill, f"{value:g}", ink=INK if lit else None, size=16)
    board.text(columns / 2, top - 0.35, "memory")
    _draw_table(board, step, area, columns + GAP)
    return board.figure()


def corners_equation(area: Area) -> str:
    """I1 + I2 - I3 - I4 with the area's numbers, coloured like the corners (LaTeX)."""
    i1, i2, i3, i4 = corners(area)
    names = (
        r"\textcolor{#0072B2}{I_1} + \textcolor{#009E73}{I_2} - \textcolor{#D55E00}{I_3} -"
        r" \textcolor{#CC79A7}{I_4}"
    )
    numbers = (
        rf"\textcolor{{#0072B2}}{{{i1:g}}} + \textcolor{{#009E73}}{{{i2:g}}} - "
        rf"\textcolor{{#D55E00}}{{{i3:g}}} - \textcolor{{#CC79A7}}{{{i4:g}}}"
    )
    return (
        rf"\begin{{aligned}}\text{{sum}} &= {names} \\ &= {numbers} ="
        rf" \mathbf{{{i1 + i2 - i3 - i4:g}}}\end{{aligned}}"
    )


def entry_equation(step: int, area: Area) -> str:
    """How the lit entry of steps 1 to 3 follows from the step before (LaTeX)."""
    row = area.top + area.height - 1
    column = area.left + area.width - 1
    parts = MEMORY[row, : column + 1] if step == 1 else stage(1)[: row + 1, column]
    return f"{' + '.join(f'{part:g}' for part in parts)} = \\mathbf{{{parts.sum():g}}}"


def table(step: int) -> Table:
    """The table so far, row by row; the zeros around it are row 0 and column 0."""
    values = stage(step)
    first = 1 - _first(step)
    rows = []
    for number, row in enumerate(values, start=first):
        rows.append((f"row {number}", *(f"{value:g}" for value in row)))
    names = (f"column {number + first}" for number in range(values.shape[1]))
    return Table(("", *names), rows)


def _first(step: int) -> int:
    """Row and column of the table at which the memory begins, behind zeros from step 3 on."""
    return 1 if step >= 3 else 0


def _draw_table(board: Board, step: int, area: Area, left: float) -> None:
    values = stage(step)
    first = _first(step)
    lit = _lit(step, area)
    for (row, column), value in np.ndenumerate(values):
        is_zero_around = row < first or column < first
        background = tint(BLUE, 0.18) if step == 3 and is_zero_around else QUIET
        fill, sign = lit.get((row, column), (background, ""))
        ink = INK if (row, column) in lit else None
        board.box(left + column, row, fill, f"{value:g}", ink=ink, size=16)
        if sign:
            board.text(left + column + 0.2, row + 0.2, sign, size=10, ink=INK)
        if not is_zero_around:
            item = (row - first) * MEMORY.shape[1] + column - first
            board.hit(left + column, row, "click: lower right corner of the area", item)
    name = "table" if step else "the same, to begin with"
    board.text(left + values.shape[1] / 2, -0.35, name)


def _lit(step: int, area: Area) -> dict[tuple[int, int], tuple[str, str]]:
    """The lit entries of the table by row and column: their colour and their sign in the sum."""
    looks = ((SKY, "+"), (GREEN, "+"), (VERMILION, "−"), (PURPLE, "−"))
    if step == 4:
        return dict(zip(corner_places(area), looks, strict=True))
    shift = 1 - _first(step)
    return {(area.top + area.height - shift, area.left + area.width - shift): (ORANGE, "")}


def corner_places(area: Area) -> tuple[tuple[int, int], ...]:
    """Row and column of I1 to I4 in the padded table."""
    bottom = area.top + area.height
    right = area.left + area.width
    return (bottom, right), (area.top, area.left), (bottom, area.left), (area.top, right)


def _taken_away(step: int, area: Area, row: int, column: int) -> str:
    """The colour of the corner that takes an item away, once the corners are lit."""
    if step < 4 or row >= area.top + area.height or column >= area.left + area.width:
        return QUIET
    left = column < area.left
    above = row < area.top
    if left and above:
        return tint(GREEN, 0.3)
    return tint(VERMILION if left else PURPLE, 0.3)

"""Lesson 3: the key and the value of an area are a mean and a sum, worked out on small numbers."""

from __future__ import annotations

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import (
    Floats,
    area_deviations,
    area_means,
    area_sums,
    items_of,
    plain,
    vector,
)
from areaviz.lessons.board import INK, ORANGE, QUIET, Board
from areaviz.lessons.grid_figure import holds
from areaviz.trace.areas import Area, AreaGrid

NUMBERS_HWD: Floats = np.arange(1.0, 7.0).reshape(2, 3, 1)
PAIRS_HWD: Floats = np.arange(1.0, 11.0).reshape(1, 5, 2)
MEMORIES = {"Grid of six numbers": NUMBERS_HWD, "Sequence of five pairs": PAIRS_HWD}
"""Small memories; keys and values are the same numbers, to keep the arithmetic in view."""


def areas(memory_HWD: Floats) -> AreaGrid:
    """The areas of a memory, up to 2 high and 3 wide."""
    return AreaGrid.clamped((memory_HWD.shape[0], memory_HWD.shape[1]), (2, 3))


def figure(memory_HWD: Floats, chosen: Area) -> Figure:
    """Which numbers does the chosen area hold? The memory with these items lit."""
    rows, columns, _ = memory_HWD.shape
    board = Board(-0.05, -0.05, columns + 0.05, rows + 0.05, cell=66)
    for row in range(rows):
        for column in range(columns):
            lit, text = holds(chosen, row, column), vector(memory_HWD[row, column])
            board.box(
                column, row, ORANGE if lit else QUIET, text, ink=INK if lit else None, size=17
            )
            board.hit(
                column + 0.5,
                row + 0.5,
                f"item {row * columns + column + 1}: {text}",
                row * columns + column,
            )
    return board.figure()


def mean_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 3 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    return rf"\mu = \frac{{{_sum(items)}}}{{{chosen.size}}} = \mathbf{{{vector(items.mean(0))}}}"


def sum_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 4 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    return rf"v = {_sum(items)} = \mathbf{{{vector(items.sum(0))}}}"


def deviation_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 5 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    squares = (items - items.mean(0)) ** 2
    return (
        rf"\sigma = \sqrt{{\frac{{{_sum(squares, 2)}}}{{{chosen.size}}}}} ="
        rf" \mathbf{{{vector(items.std(0))}}}"
    )


def table(memory_HWD: Floats) -> Table:
    """Mean, sum and standard deviation of every area."""
    grid = areas(memory_HWD)
    columns = zip(
        area_means(memory_HWD, grid),
        area_sums(memory_HWD, grid),
        area_deviations(memory_HWD, grid),
        strict=True,
    )
    rows = []
    for number, (mean, total, deviation) in enumerate(columns):
        held = " ".join(vector(item) for item in items_of(memory_HWD, grid.area(number)))
        rows.append((number + 1, held, vector(mean), vector(total), vector(deviation)))
    return Table(("Area", "Items", "Mean (key)", "Sum (value)", "Standard deviation"), rows)


def _sum(items: Floats, digits: int = 3) -> str:
    return " + ".join(
        vector(item, digits) if len(item) > 1 else plain(item[0], digits) for item in items
    )

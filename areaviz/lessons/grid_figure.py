"""Lesson 2: every rectangle of a grid of items, and why their number is a product."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.board import (
    BLUE,
    COLUMN,
    INK,
    ORANGE,
    QUIET,
    Board,
    base_layout,
    hit_trace,
    tint,
)
from areaviz.trace.areas import Area, AreaGrid

EMPTY, HELD, CHOSEN_EMPTY, CHOSEN_HELD = 0, 1, 2, 3
COLOURS = (QUIET, tint(BLUE, 0.8), tint(ORANGE, 0.35), ORANGE)
LABEL_ROOM = 34

Runs = list[tuple[int, int]]
"""(extent, first) of every run along one axis, short runs first."""


def runs(length: int, longest: int) -> Runs:
    """Every run of 1..`longest` items along one axis of `length` items."""
    return [
        (extent, first) for extent in range(1, longest + 1) for first in range(length - extent + 1)
    ]


def figure(grid: AreaGrid, chosen: Area) -> Figure:
    """Which rectangles does a grid have? All of them: a row for each vertical run, a column for
    each horizontal one.
    """
    down, across = runs(grid.height, grid.max_height), runs(grid.width, grid.max_width)
    tops, lefts = _offsets(down, grid.height), _offsets(across, grid.width)
    cells = np.full((tops[-1] + grid.height, lefts[-1] + grid.width), np.nan)
    hits: list[tuple[float, float, str, int]] = []
    for (height, top), y in zip(down, tops, strict=True):
        for (width, left), x in zip(across, lefts, strict=True):
            area = Area(top, left, height, width)
            cells[y : y + grid.height, x : x + grid.width] = _mini(grid, area, area == chosen)
            centre = (x + (grid.width - 1) / 2, y + (grid.height - 1) / 2)
            hits.append((*centre, describe(area), grid.index(area)))
    picture = _mosaic(cells, hits)
    _label(picture, down, tops, across, lefts, grid)
    return picture


def closeup(grid: AreaGrid, chosen: Area) -> Figure:
    """Where does the chosen rectangle lie? The grid itself, items numbered row by row."""
    board = Board(-0.05, -0.05, grid.width + 0.05, grid.height + 0.05, cell=44)
    for row in range(grid.height):
        for column in range(grid.width):
            lit = holds(chosen, row, column)
            text = str(row * grid.width + column + 1)
            board.box(column, row, ORANGE if lit else QUIET, text, ink=INK if lit else None)
    return board.figure()


def count_equation(grid: AreaGrid) -> str:
    """|R| = |Rv||Rh| with the numbers put in (LaTeX)."""
    vertical = _run_equation("v", grid.height, grid.max_height)
    horizontal = _run_equation("h", grid.width, grid.max_width)
    down, across = len(runs(grid.height, grid.max_height)), len(runs(grid.width, grid.max_width))
    return (
        rf"\begin{{aligned}}{vertical}\\{horizontal}\\"
        rf"|R| &= |R_v|\,|R_h| = {down}\cdot {across} = \mathbf{{{grid.count}}}\end{{aligned}}"
    )


def describe(area: Area) -> str:
    """A rectangle in words, rows and columns counted from 1."""
    return f"{area.height} high, {area.width} wide, from row {area.top + 1}, column {area.left + 1}"


def holds(area: Area, row: int, column: int) -> bool:
    """Whether the item at (row, column) is one of the area's."""
    inside = area.top <= row < area.top + area.height
    return inside and area.left <= column < area.left + area.width


def table(grid: AreaGrid) -> Table:
    """How many areas there are of every shape."""
    rows = [(h, w, (grid.height - h + 1) * (grid.width - w + 1)) for h, w in grid.shapes()]
    return Table(("Height", "Width", "Areas of this shape"), rows)


def _offsets(axis: Runs, length: int) -> list[int]:
    """Where each small grid begins: one empty cell between two, three between two extents."""
    offsets = [0]
    for (extent, _), (following, _) in pairwise(axis):
        offsets.append(offsets[-1] + length + (1 if extent == following else 3))
    return offsets


def _mini(grid: AreaGrid, area: Area, chosen: bool) -> npt.NDArray[np.float64]:
    cells = np.full((grid.height, grid.width), CHOSEN_EMPTY if chosen else EMPTY, dtype=np.float64)
    held = CHOSEN_HELD if chosen else HELD
    cells[area.top : area.top + area.height, area.left : area.left + area.width] = held
    return cells


def _mosaic(cells: npt.NDArray[np.float64], hits: list[tuple[float, float, str, int]]) -> Figure:
    rows, columns = cells.shape
    cell = min((COLUMN - LABEL_ROOM) / columns, 380 / rows, 24)
    gap = 1 if cell >= 9 else 0
    scale = [
        [(step + edge) / len(COLOURS), colour]
        for step, colour in enumerate(COLOURS)
        for edge in (0, 1)
    ]
    heat = {
        "type": "heatmap",
        "z": cells,
        "zmin": -0.5,
        "zmax": 3.5,
        "colorscale": scale,
        "showscale": False,
    }
    heat |= {"hoverinfo": "skip", "xgap": gap, "ygap": gap}
    x, y, labels, numbers = (list(column) for column in zip(*hits, strict=True))
    axis = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout = base_layout(rows * cell + LABEL_ROOM) | {
        "xaxis": axis | {"range": [-LABEL_ROOM / cell, columns]},
        "yaxis": axis | {"range": [rows, -LABEL_ROOM / cell], "scaleanchor": "x"},
    }
    side = cell * (rows / max(len(set(y)), 1) - 1)
    return Figure(data=[heat, hit_trace(x, y, labels, numbers, side)], layout=layout)


def _label(
    picture: Figure, down: Runs, tops: list[int], across: Runs, lefts: list[int], grid: AreaGrid
) -> None:
    """Name the heights at the left and the widths on top."""
    for extent in range(1, grid.max_width + 1):
        starts = [x for (width, _), x in zip(across, lefts, strict=True) if width == extent]
        middle = (starts[0] + starts[-1] + grid.width - 1) / 2
        picture.add_annotation(
            x=middle, y=-0.9, text=_name("width", extent, grid.max_width), yanchor="bottom"
        )
    for extent in range(1, grid.max_height + 1):
        starts = [y for (height, _), y in zip(down, tops, strict=True) if height == extent]
        middle = (starts[0] + starts[-1] + grid.height - 1) / 2
        text = _name("height", extent, grid.max_height)
        picture.add_annotation(x=-0.9, y=middle, text=text, xanchor="right", textangle=-90)
    picture.update_annotations(showarrow=False, font_size=12, borderpad=0)


def _name(what: str, extent: int, longest: int) -> str:
    return f"{what} {extent}" if longest <= 3 else f"{what[0]} {extent}"


def _run_equation(axis: str, length: int, longest: int) -> str:
    total = len(runs(length, longest))
    return (
        rf"|R_{axis}| &= ({length}-{longest})\cdot {longest} + \tfrac{{{longest}\cdot"
        rf" {longest + 1}}}{{2}} = {total}"
    )

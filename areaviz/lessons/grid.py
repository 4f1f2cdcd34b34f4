"""Lesson 2: the areas of a grid, and why their number is a product (Fig. 2)."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.page_parts import as_table, choose, columns, controls, pick_area, picture
from areaviz.lessons.pictures import (
    BLUE,
    COLUMN,
    ORANGE,
    QUIET,
    base_layout,
    hit_trace,
    memory_figure,
    tint,
)
from areaviz.trace.areas import Area, AreaGrid

EMPTY, HELD, CHOSEN_EMPTY, CHOSEN_HELD = 0, 1, 2, 3
COLOURS = (QUIET, tint(BLUE, 0.8), tint(ORANGE, 0.35), ORANGE)
"""What a cell of the mosaic is, and its colour."""
LABEL_ROOM = 34
"""Pixels for the labels at the left and on top."""

Runs = dict[tuple[int, int], int]
"""Where the small grids of every run begin, by (extent, first) of the run, short runs first."""


@st.fragment
def show() -> None:
    """All rectangles as small pictures, with sliders for the grid and the largest area."""
    left, right = columns()
    with left:
        grid = _sizes()
        chosen = pick_area("grid", grid, Area(1, 0, 2, 2))
        question = (
            "Which rectangles does a grid have? One small grid for each, in rows by height, in"
            " columns by width."
        )
        picture(figure(grid, chosen), "grid", question, partial(choose, "grid", grid))
    with right:
        st.markdown(
            "In an image the memory is a grid of items and an area is a rectangle of them. Each"
            " small grid on the left is one area. Those in one **row** span the same rows of the"
            " memory; those in one **column** span the same columns. Every vertical run meets every"
            " horizontal one, so the counts multiply."
        )
        st.latex(count_equation(grid))
        st.markdown(f"The chosen area, **{describe(chosen)}**, in the memory:")
        question = "Where does the chosen rectangle lie in the grid?"
        picture(closeup(grid, chosen), "grid-closeup", question)
        as_table(table(grid), "grid")


def _sizes() -> AreaGrid:
    one, two = controls("grid", 2)
    height = one.slider("Height of the grid", 2, 5, 3, key="grid-height")
    width = two.slider("Width of the grid", 2, 5, 3, key="grid-width")
    tallest = one.slider("Largest height of an area, H", 1, 4, 2, key="grid-tallest")
    widest = two.slider("Largest width of an area, W", 1, 4, 2, key="grid-widest")
    return AreaGrid.clamped((height, width), (tallest, widest))


def runs(length: int, longest: int) -> Runs:
    """Every run of 1..`longest` items along one axis of `length` items."""
    found = {}
    offset = 0
    for extent in range(1, longest + 1):
        for first in range(length - extent + 1):
            found[extent, first] = offset
            offset += length + 1  # one empty cell between two small grids
        offset += 2  # three between two extents
    return found


def figure(grid: AreaGrid, chosen: Area) -> Figure:
    """Which rectangles does a grid have? A small grid for each.

    There is a row of small grids for every vertical run and a column for every horizontal one.
    """
    down = runs(grid.height, grid.max_height)
    across = runs(grid.width, grid.max_width)
    rows = max(down.values()) + grid.height
    columns = max(across.values()) + grid.width
    # What stays NaN is clear: the gaps between the small grids.
    cells = np.full((rows, columns), np.nan)
    hits: list[tuple[float, float, str, int]] = []
    for (height, top), y in down.items():
        for (width, left), x in across.items():
            area = Area(top, left, height, width)
            empty, held = (CHOSEN_EMPTY, CHOSEN_HELD) if area == chosen else (EMPTY, HELD)
            small = cells[y : y + grid.height, x : x + grid.width]
            small[:] = empty
            small[top : top + height, left : left + width] = held
            middle = (x + (grid.width - 1) / 2, y + (grid.height - 1) / 2)
            hits.append((*middle, describe(area), grid.index(area)))
    mosaic = _mosaic(cells, hits, len(down))
    _label_axis(mosaic, "width", across, grid.width)
    _label_axis(mosaic, "height", down, grid.height)
    mosaic.update_annotations(showarrow=False, font_size=12, borderpad=0)
    return mosaic


def closeup(grid: AreaGrid, chosen: Area) -> Figure:
    """Where does the chosen rectangle lie? The grid itself, items numbered row by row."""
    numbers_HW = np.arange(1, grid.items + 1).reshape(grid.height, grid.width)
    return memory_figure(numbers_HW.astype(str).tolist(), chosen, cell=44)


def count_equation(grid: AreaGrid) -> str:
    """|R| = |Rv||Rh| with the numbers put in (LaTeX)."""
    down, vertical = _run_equation("v", grid.height, grid.max_height)
    across, horizontal = _run_equation("h", grid.width, grid.max_width)
    return (
        rf"\begin{{aligned}}{vertical}\\{horizontal}\\"
        rf"|R| &= |R_v|\,|R_h| = {down}\cdot {across} = \mathbf{{{grid.count}}}\end{{aligned}}"
    )


def describe(area: Area) -> str:
    """A rectangle in words, rows and columns counted from 1."""
    return f"{area.height} high, {area.width} wide, from row {area.top + 1}, column {area.left + 1}"


def table(grid: AreaGrid) -> Table:
    """How many areas there are of every shape."""
    rows = []
    for height, width in grid.shapes():
        _, down, across = grid.slab(height, width)
        rows.append((height, width, down * across))
    return Table(("Height", "Width", "Areas of this shape"), rows)


def _mosaic(cells: Floats, hits: list[tuple[float, float, str, int]], down: int) -> Figure:
    """All small grids as one heat map. down: how many lie one below the other."""
    rows, columns = cells.shape
    # As large as the column and 380 pixels of height allow.
    cell = min((COLUMN - LABEL_ROOM) / columns, 380 / rows, 24)
    gap = 1 if cell >= 9 else 0
    # Two entries a colour, so that the scale has steps and does not blend.
    scale = []
    for step, colour in enumerate(COLOURS):
        scale += [[step / len(COLOURS), colour], [(step + 1) / len(COLOURS), colour]]
    heat = {
        "type": "heatmap",
        "z": cells,
        "zmin": -0.5,
        "zmax": 3.5,
        "colorscale": scale,
        "showscale": False,
        "hoverinfo": "skip",
        "xgap": gap,
        "ygap": gap,
    }
    axis = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout = base_layout(rows * cell + LABEL_ROOM) | {
        "xaxis": axis | {"range": [-LABEL_ROOM / cell, columns]},
        "yaxis": axis | {"range": [rows, -LABEL_ROOM / cell], "scaleanchor": "x"},
    }
    return Figure(data=[heat, hit_trace(hits, cell * (rows / down - 1))], layout=layout)


def _label_axis(mosaic: Figure, name: str, axis: Runs, length: int) -> None:
    """Name the extents of the areas: widths on top, heights at the left."""
    longest, _ = max(axis)
    for extent in range(1, longest + 1):
        middle = (axis[extent, 0] + axis[extent, length - extent] + length - 1) / 2
        # Many extents leave room for one letter.
        text = f"{name if longest <= 3 else name[0]} {extent}"
        if name == "width":
            mosaic.add_annotation(x=middle, y=-0.9, text=text, yanchor="bottom")
        else:
            mosaic.add_annotation(x=-0.9, y=middle, text=text, xanchor="right", textangle=-90)


def _run_equation(axis: str, length: int, longest: int) -> tuple[int, str]:
    """How many runs an axis has, and the formula of it (LaTeX)."""
    total = len(runs(length, longest))
    return total, (
        rf"|R_{axis}| &= ({length}-{longest})\cdot {longest} + \tfrac{{{longest}\cdot"
        rf" {longest + 1}}}{{2}} = {total}"
    )

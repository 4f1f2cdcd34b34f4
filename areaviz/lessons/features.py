"""Lesson 5: a richer key, from mean, standard deviation and shape (Eq. 5 to 9)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, areas_of, items_of, plain, vector
from areaviz.lessons.grid import describe
from areaviz.lessons.page_parts import as_table, columns, grow_to, pick_area, picture
from areaviz.lessons.pictures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    Board,
    memory_figure,
    tint,
)
from areaviz.trace.areas import Area, AreaGrid

MEMORY_HWD: Floats = np.array([[[1.0, 2], [3, 1], [2, 4]], [[0, 1], [5, 3], [4, 2]]])
GRID = AreaGrid(2, 3, 2, 3)
HEIGHTS: Floats = np.array([[0.5, 0.0], [1.0, -0.5]])
WIDTHS: Floats = np.array([[0.0, 0.5], [0.5, 0.5], [1.0, 0.0]])
W_MEAN: Floats = np.array([[1.0, 1.0], [0.0, -1.0]])
W_DEVIATION: Floats = np.array([[0.5, -1.0], [0.5, 0.0]])
W_SHAPE: Floats = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0], [0.0, 0.5]])
W_OUT: Floats = np.array([[0.5, 0.0], [-0.5, 1.0]])
"""Weights made up for this page and small enough to follow; a model learns its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """Everything between the items of an area and its key: each a vector.

    Args:
        mean, deviation, shape: the features.
        hidden: the sum of the features times their weights.
        active: `hidden` after the ReLU.
        key: what a query is compared with.
    """

    mean: Floats
    deviation: Floats
    shape: Floats
    hidden: Floats
    active: Floats
    key: Floats


@st.fragment
def show() -> None:
    """Every number between the items of the chosen area and its key."""
    left, right = columns()
    with right:
        st.markdown(
            "Two areas with the same mean look alike to a mean key. Eq. 9 tells them apart: it also"
            " looks at the **standard deviation** σ of the items and at the **shape** of the area,"
            " whose height and width each have a learned vector (Eq. 6 to 8). A layer with a ReLU φ"
            " combines the three."
        )
        st.latex(r"k = \phi(\mu W_\mu + \sigma W_\sigma + e\,W_e)\,W_d")
        st.caption("A model learns the weights. These were made up for this page and kept small.")
        with st.popover("Show the weights"):
            st.latex(weights_equation())
    with left:
        chosen = pick_area("features", GRID, Area(0, 1, 2, 2))
        question = "Which items does the key describe? A grid of six items, those of the area lit."
        on_click = partial(grow_to, "features", GRID)
        picture(lit_memory(chosen), "features-memory", question, on_click)
        st.caption("Click an item: the area grows to it, or starts there.")
    left, right = columns()
    with left:
        question = (
            "How do mean, deviation and shape become one key? The features times their weights,"
            " then their sum, the ReLU and the key."
        )
        picture(figure(chosen), "features", question)
    with right:
        st.latex(equations(chosen))
    as_table(table(), "features")


def key_of(area: Area) -> Key:
    """Eq. 5 to 9 (Li et al. 2019) for one area of the memory."""
    items = items_of(MEMORY_HWD, area)
    mean = items.mean(0)
    deviation = items.std(0)
    shape = np.concatenate([HEIGHTS[area.height - 1], WIDTHS[area.width - 1]])
    hidden = mean @ W_MEAN + deviation @ W_DEVIATION + shape @ W_SHAPE
    # The ReLU.
    active = np.maximum(hidden, 0)
    return Key(mean, deviation, shape, hidden, active, active @ W_OUT)


def lit_memory(chosen: Area) -> Figure:
    """Which items does the key describe?"""
    texts_HW = [[vector(item) for item in row] for row in MEMORY_HWD]
    return memory_figure(texts_HW, chosen, cell=70, size=16, label="item {text}")


def figure(area: Area) -> Figure:
    """How do the three features become one key? A line for each feature, the key below."""
    found = key_of(area)
    board = Board(-0.05, -0.5, 6.85, 6.1)
    rows = (
        (0.0, "mean μ", found.mean, BLUE, W_MEAN, "μ"),
        (1.6, "deviation σ", found.deviation, GREEN, W_DEVIATION, "σ"),
        (3.2, "shape e: height, width", found.shape, PURPLE, W_SHAPE, "e"),
    )
    for y, name, values, colour, weights, sign in rows:
        _draw_vector(board, 0, y, values, colour, name)
        board.text((len(values) + 4.8) / 2, y + 0.5, "→", size=18)
        _draw_vector(board, 4.8, y, values @ weights, colour, f"times W<sub>{sign}</sub>")
    _draw_vector(board, 0, 5.0, found.hidden, SKY, "sum of the three")
    _draw_vector(board, 2.4, 5.0, found.active, SKY, "ReLU φ")
    _draw_vector(board, 4.8, 5.0, found.key, ORANGE, "times W<sub>d</sub>: key k")
    for x in (2.2, 4.6):
        board.text(x, 5.5, "→", size=18)
    return board.figure()


def equations(area: Area) -> str:
    """Eq. 9 with the chosen area's numbers (LaTeX)."""
    found = key_of(area)
    hidden = vector(found.hidden, 2)
    return (
        rf"\begin{{aligned}} &\mu W_\mu + \sigma W_\sigma + e\,W_e \\ "
        rf"&= {vector(found.mean @ W_MEAN, 2)} + {vector(found.deviation @ W_DEVIATION, 2)} \\ "
        rf"&\quad + {vector(found.shape @ W_SHAPE, 2)} = {hidden} \\[4pt] "
        rf"&k = \phi\,{hidden}\,W_d \\ "
        rf"&\phantom{{k}} = {vector(found.active, 2)}\,W_d = "
        rf"\mathbf{{{vector(found.key, 2)}}}\end{{aligned}}"
    )


def weights_equation() -> str:
    """The made-up weights (LaTeX)."""
    mean = _matrix(r"W_\mu", W_MEAN)
    deviation = _matrix(r"W_\sigma", W_DEVIATION)
    return (
        rf"\begin{{gathered}}{mean}\quad {deviation}"
        rf" \\[4pt] {_matrix('W_e', W_SHAPE)}\quad {_matrix('W_d', W_OUT)}"
        rf" \\[4pt] {_matrix('E^h', HEIGHTS)} \quad {_matrix('E^w', WIDTHS)}\end{{gathered}}"
    )


def table() -> Table:
    """The features and the key of every area."""
    rows = []
    for area in areas_of(GRID):
        found = key_of(area)
        numbers = (found.mean, found.deviation, found.shape, found.key)
        rows.append((describe(area), *(vector(part, 2) for part in numbers)))
    return Table(("Area", "Mean", "Standard deviation", "Shape", "Key"), rows)


def _draw_vector(
    board: Board, x: float, y: float, values: Floats, colour: str, name: str = ""
) -> None:
    """A cell for each number, the name above."""
    for place, value in enumerate(values):
        board.box(x + place, y, tint(colour, 0.3), plain(value, 2), height=0.95)
    if name:
        board.text(x + 0.05, y - 0.2, name, anchor="left")


def _matrix(name: str, values: Floats) -> str:
    rows = r" \\ ".join(" & ".join(map(plain, row)) for row in values)
    return rf"{name} = \begin{{bmatrix}}{rows}\end{{bmatrix}}"

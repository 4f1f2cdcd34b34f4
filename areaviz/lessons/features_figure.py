"""Lesson 7: a richer key, from mean, standard deviation and shape (Eq. 5 to 9), with every number
shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, items_of, plain, vector
from areaviz.lessons.board import BLUE, GREEN, INK, ORANGE, PAGE, PURPLE, QUIET, SKY, Board, tint
from areaviz.lessons.grid_figure import describe, holds
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
    """Everything between the items of an area and its key: each a vector; `hidden` is before the
    ReLU.
    """

    mean: Floats
    deviation: Floats
    shape: Floats
    from_mean: Floats
    from_deviation: Floats
    from_shape: Floats
    hidden: Floats
    active: Floats
    key: Floats


def key_of(area: Area) -> Key:
    """Eq. 5 to 9 (Li et al. 2019) for one area of the memory."""
    items = items_of(MEMORY_HWD, area)
    mean, deviation = items.mean(0), items.std(0)
    shape = np.concatenate([HEIGHTS[area.height - 1], WIDTHS[area.width - 1]])
    parts = (mean @ W_MEAN, deviation @ W_DEVIATION, shape @ W_SHAPE)
    hidden = parts[0] + parts[1] + parts[2]
    active = np.maximum(hidden, 0)
    return Key(mean, deviation, shape, *parts, hidden, active, active @ W_OUT)


def memory_figure(chosen: Area) -> Figure:
    """Which items does the key describe?"""
    board = Board(-0.05, -0.05, 3.05, 2.05, cell=70)
    for row in range(2):
        for column in range(3):
            lit, text = holds(chosen, row, column), vector(MEMORY_HWD[row, column])
            board.box(
                column, row, ORANGE if lit else QUIET, text, ink=INK if lit else None, size=16
            )
            board.hit(column + 0.5, row + 0.5, f"item {text}", row * 3 + column)
    return board.figure()


def figure(area: Area) -> Figure:
    """How do the three features become one key? Features at the left, the key at the right."""
    found = key_of(area)
    board = Board(-0.1, -0.55, 10.8, 5.0, cell=56, room=PAGE)
    rows = (
        (0.0, "mean μ", found.mean, BLUE, found.from_mean, "W<sub>μ</sub>"),
        (1.6, "deviation σ", found.deviation, GREEN, found.from_deviation, "W<sub>σ</sub>"),
        (3.2, "shape e: height, width", found.shape, PURPLE, found.from_shape, "W<sub>e</sub>"),
    )
    for y, name, values, colour, product, weight in rows:
        _vector(board, 0, y, values, colour, name)
        board.text(len(values) + 0.15, y + 0.5, f"times {weight} →", anchor="left")
        _vector(board, 5.45, y, product, colour, "")
    _gather(board, found)
    return board.figure()


def equations(area: Area) -> str:
    """Eq. 9 with the chosen area's numbers (LaTeX)."""
    found = key_of(area)
    return (
        rf"\begin{{aligned}} \mu W_\mu + \sigma W_\sigma + e\,W_e &= "
        rf"{vector(found.from_mean, 2)} + {vector(found.from_deviation, 2)} +"
        rf" {vector(found.from_shape, 2)} \\ "
        rf"&= {vector(found.hidden, 2)} \\ "
        rf"k = \phi\,{vector(found.hidden, 2)}\,W_d &= {vector(found.active, 2)}\,W_d = "
        rf"\mathbf{{{vector(found.key, 2)}}}\end{{aligned}}"
    )


def weights_equation() -> str:
    """The made-up weights (LaTeX)."""
    named = (("W_\\mu", W_MEAN), ("W_\\sigma", W_DEVIATION), ("W_e", W_SHAPE), ("W_d", W_OUT))
    matrices = rf"\\[4pt] {_matrix('E^h', HEIGHTS)} \quad {_matrix('E^w', WIDTHS)}"
    first = r"\quad ".join(_matrix(name, values) for name, values in named[:2])
    second = r"\quad ".join(_matrix(name, values) for name, values in named[2:])
    return rf"\begin{{gathered}}{first} \\[4pt] {second} {matrices}\end{{gathered}}"


def table() -> Table:
    """The features and the key of every area."""
    rows = []
    for number in range(GRID.count):
        area = GRID.area(number)
        found = key_of(area)
        numbers = (found.mean, found.deviation, found.shape, found.key)
        rows.append((describe(area), *(vector(part, 2) for part in numbers)))
    return Table(("Area", "Mean", "Standard deviation", "Shape", "Key"), rows)


def _gather(board: Board, found: Key) -> None:
    for y, arrow in ((0.5, "↘"), (2.1, "↗"), (3.7, "↗")):
        board.text(7.85, y, arrow, size=18)
    _vector(board, 8.3, 0.8, found.hidden, SKY, "sum")
    _vector(board, 8.3, 2.35, found.active, SKY, "ReLU φ")
    _vector(board, 8.3, 3.9, found.key, ORANGE, "times W<sub>d</sub>: the key k")


def _vector(board: Board, x: float, y: float, values: Floats, colour: str, name: str) -> None:
    for place, value in enumerate(values):
        board.box(x + place, y, tint(colour, 0.3), plain(float(value), 2), height=0.95)
    if name:
        board.text(x + 0.05, y - 0.2, name, anchor="left")


def _matrix(name: str, values: Floats) -> str:
    rows = r" \\ ".join(" & ".join(plain(float(value)) for value in row) for row in values)
    return rf"{name} = \begin{{bmatrix}}{rows}\end{{bmatrix}}"

"""Lesson 8: how a size bias, or scores for where an area begins and ends, let a span outweigh its
best item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, plain
from areaviz.lessons.board import BLUE, GREEN, ORANGE, PAPER, PURPLE, QUIET, Board, tint
from areaviz.trace.areas import Area, AreaGrid

WORDS = ("a", "young", "child", "runs")
ITEM_LOGITS: Floats = np.array([0.1, 1.0, 0.9, -0.4])
"""q . k of every item, made up for this page."""
GRID = AreaGrid(1, len(WORDS), 1, 3)
BEGINS, ENDS = 1, 2
"""The items whose start and end score the reader sets: "young" and "child"."""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """The logits of all areas of the four words, in their parts, and their weights: each float64
    [A].
    """

    mean: Floats
    size: Floats
    start: Floats
    end: Floats
    logits: Floats
    weights: Floats


def attend(bias: float, start: float, end: float) -> Boundary:
    """The softmax over mean + bias * (size - 1) + start of the first item + end of the last.

    Args:
        bias: added for every item after the first.
        start: of an area that begins with "young".
        end: of an area that ends with "child".
    """
    areas = [GRID.area(number) for number in range(GRID.count)]
    mean = np.array([ITEM_LOGITS[area.left : area.left + area.width].mean() for area in areas])
    size = np.array([bias * (area.width - 1) for area in areas])
    first = np.array([start if area.left == BEGINS else 0.0 for area in areas])
    last = np.array([end if area.left + area.width - 1 == ENDS else 0.0 for area in areas])
    logits = mean + size + first + last
    weights = np.exp(logits - logits.max())
    return Boundary(mean, size, first, last, logits, weights / weights.sum())


def heaviest(found: Boundary, items: int | None = None) -> int:
    """The number of the heaviest area, of those with `items` items where that is given."""
    among = found.weights if items is None else np.where(GRID.sizes() == items, found.weights, -1)
    return int(among.argmax())


def words_of(area: Area) -> str:
    """The words an area holds."""
    return " ".join(WORDS[area.left : area.left + area.width])


def figure(found: Boundary) -> Figure:
    """Which area is the heaviest? Every area's weight in its cell, the heaviest outlined."""
    top = heaviest(found)
    board = Board(-1.35, -0.05, len(WORDS) + 0.1, GRID.max_width + 1.35, cell=66)
    for number, weight in enumerate(found.weights):
        area = GRID.area(number)
        x, y = area.left, GRID.max_width - area.width
        strength = 0.1 + 0.85 * float(weight / found.weights.max())
        board.box(x, y, tint(BLUE, strength), edge=ORANGE if number == top else None)
        board.text(
            x + 0.5, y + 0.5, f"{weight:.3f}", size=13, ink=PAPER if strength > 0.85 else None
        )
        board.hit(
            x + 0.5,
            y + 0.5,
            f"{words_of(area)}: logit {plain(float(found.logits[number]))}",
            number,
        )
    for row in range(GRID.max_width):
        length = GRID.max_width - row
        board.text(-0.2, row + 0.5, f"{length} item{'s' if length > 1 else ''}", anchor="right")
    held = GRID.area(top)
    for item, word in enumerate(WORDS):
        lit = held.left <= item < held.left + held.width
        board.box(
            item, GRID.max_width + 0.35, tint(ORANGE, 0.75) if lit else QUIET, word, height=0.8
        )
    return board.figure()


def parts_figure(found: Boundary) -> Figure:
    """Where do the logits of the heaviest item and the heaviest span come from? Their parts, added
    up.
    """
    rows = [heaviest(found, 1), max((2, 3), key=lambda size: found.weights[heaviest(found, size)])]
    numbers = [rows[0], heaviest(found, rows[1])]
    data = []
    parts = (
        ("mean", found.mean, BLUE),
        ("size", found.size, PURPLE),
        ("start", found.start, GREEN),
    )
    for name, values, colour in (*parts, ("end", found.end, ORANGE)):
        shown = [float(values[number]) for number in numbers]
        bar = {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": shown,
            "y": [words_of(GRID.area(n)) for n in numbers],
        }
        data.append(
            bar
            | {"marker": {"color": colour}, "hovertemplate": f"{name}: %{{x:.2f}}<extra></extra>"}
        )
    axis = {"fixedrange": True, "zeroline": True}
    layout = {
        "barmode": "relative",
        "height": 190,
        "margin": {"l": 4, "r": 8, "t": 30, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemclick": False},
        "xaxis": axis | {"title": {"text": "logit"}},
        "yaxis": axis | {"automargin": True, "autorange": "reversed"},
    }
    return Figure(data=data, layout=layout)


def sum_equation(found: Boundary, number: int) -> str:
    """The logit of an area as the sum of its parts (LaTeX)."""
    parts = (found.mean, found.size, found.start, found.end)
    numbers = [plain(float(part[number]), 2) for part in parts]
    signed = numbers[0] + "".join(
        value if value.startswith("-") else f" + {value}" for value in numbers[1:]
    )
    words = words_of(GRID.area(number)).replace(" ", r"\ ")
    return rf"\text{{{words}}}: \; {signed} = \mathbf{{{plain(float(found.logits[number]), 2)}}}"


def table(found: Boundary) -> Table:
    """Every area with the parts of its logit and its weight."""
    rows: list[tuple[str | int | float, ...]] = []
    for number in range(GRID.count):
        parts = (found.mean, found.size, found.start, found.end, found.logits)
        values = [round(float(part[number]), 2) for part in parts]
        rows.append((words_of(GRID.area(number)), *values, round(float(found.weights[number]), 4)))
    return Table(("Area", "Mean", "Size", "Start", "End", "Logit", "Weight"), rows)

"""Lesson 12: two misprints of the survey (Wang and Tax 2016), run as printed and as repaired.

Shapes: U x V pixels of a picture; M glimpses, K items, S = K^M ways to glimpse.
"""

from __future__ import annotations

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.board import BLUE, QUIET, VERMILION, Board, tint
from areaviz.lessons.hard_figure import REWARDS, RIGHT, SCORES, Choice

CHOICE = Choice(SCORES["Even"], REWARDS["Right or wrong"])
MOST_GLIMPSES = 5


def sampled(height: int, width: int, printed: bool) -> Floats:
    """A picture of ones, height x width, sampled at its own pixels (Eq. 32): [U, V].

    As printed, u runs to the width; repaired, to the height. Rows that do not exist count nothing.
    """
    rows, columns = np.arange(1.0, height + 1), np.arange(1.0, width + 1)
    summed = rows[: width if printed else height]
    near = np.maximum(0, 1 - np.abs(rows[:, None] - summed)).sum(1)
    beside = np.maximum(0, 1 - np.abs(columns[:, None] - columns)).sum(1)
    output: Floats = np.outer(near, beside)
    return output


def slope(glimpses: int, printed: bool) -> float:
    """What the estimate of Eq. 47 is on average, for the score of the item with the answer.

    Every one of the glimpses draws an item by the same weights; the reward is 1 if one of them took
    the item with the answer. As printed, the sum over glimpses is divided by their number;
    repaired, it is not.
    """
    ways_SM = np.indices((len(CHOICE.scores),) * glimpses).reshape(glimpses, -1).T
    chances = CHOICE.weights[ways_SM].prod(1)
    rewards = (ways_SM == RIGHT).any(1)
    summed = CHOICE.traces[ways_SM, RIGHT].sum(1)
    return float(chances @ (rewards * summed)) / (glimpses if printed else 1)


def sampled_figure(height: int, width: int) -> Figure:
    """Which rows get lost? A picture of ones, sampled as printed and as repaired."""
    board = Board(-0.05, -0.7, 2 * width + 0.85, height + 0.05, cell=46)
    for x, name, printed, colour in (
        (0.0, "as printed", True, VERMILION),
        (width + 0.8, "as implemented", False, BLUE),
    ):
        right = sampled(height, width, False)
        for (row, column), value in np.ndenumerate(sampled(height, width, printed)):
            lost = value != right[row, column]
            board.box(
                x + column, row, tint(colour, 0.45) if lost or not printed else QUIET, f"{value:g}"
            )
        board.text(x + width / 2, -0.35, name)
    return board.figure()


def table(height: int, width: int, glimpses: int) -> Table:
    """Both misprints with the number they give and the number they should give."""
    sums = [f"{sampled(height, width, printed).sum():g}" for printed in (True, False)]
    slopes = [f"{slope(glimpses, printed):.3f}" for printed in (True, False)]
    rows = [(f"Eq. 32 (survey), sum of the output for {height} × {width} ones", *sums)]
    rows.append((f"Eq. 45 (survey), mean estimate with {glimpses} glimpses", *slopes))
    return Table(("Where", "As printed", "As implemented"), rows)

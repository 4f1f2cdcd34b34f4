"""Two misprints of the survey (Wang and Tax 2016), run both ways.

Shapes: U x V pixels of a picture; M glimpses, K items, S = K^M ways to glimpse.
"""

from __future__ import annotations

import numpy as np

from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.hard_numbers import REWARDS, RIGHT, SCORES, Choice

CHOICE = Choice(SCORES["Even"], REWARDS["Right or wrong"])
MOST_GLIMPSES = 5


def sampled(height: int, width: int, printed: bool) -> Floats:
    """Return a picture of ones, height x width, sampled at its own pixels (Eq. 32): [U, V].

    As printed, u runs to the width; repaired, to the height. Rows that do not exist count nothing.
    """
    rows = np.arange(1.0, height + 1)
    columns = np.arange(1.0, width + 1)
    summed = rows[:width] if printed else rows
    # The kernel of bilinear sampling reaches one pixel far.
    near = np.maximum(0, 1 - np.abs(rows[:, None] - summed)).sum(1)
    beside = np.maximum(0, 1 - np.abs(columns[:, None] - columns)).sum(1)
    output: Floats = np.outer(near, beside)
    return output


def slope(glimpses: int, printed: bool) -> float:
    """Return what the estimate of Eq. 47 is on average, for the score of the item with the answer.

    Every one of the glimpses draws an item by the same weights; the reward is 1 if one of them took
    the item with the answer. As printed, the sum over glimpses is divided by their number;
    repaired, it is not.
    """
    ways_SM = np.indices((len(CHOICE.scores),) * glimpses).reshape(glimpses, -1).T
    chances = CHOICE.weights[ways_SM].prod(1)
    rewards = (ways_SM == RIGHT).any(1)
    summed = CHOICE.traces[ways_SM, RIGHT].sum(1)
    return float(chances @ (rewards * summed)) / (glimpses if printed else 1)

"""Two misprints of the survey (Wang and Tax 2016), computed as printed and as corrected.

Shapes: U x V pixels of a picture, M glimpses, K items, S = K^M sequences of glimpses.
"""

from __future__ import annotations

import numpy as np

from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.hard_numbers import REWARDS, RIGHT, SCORES, Choice

CHOICE = Choice(SCORES["Even"], REWARDS["Right or wrong"])
MOST_GLIMPSES = 5


def sample_picture(height: int, width: int, printed: bool) -> Floats:
    """Return a picture whose pixels are 1, height x width, sampled at its pixels (Eq. 32): [U, V].

    The sum over rows goes up to the width as printed, and up to the height as corrected. Rows that
    do not exist add 0.
    """
    rows = np.arange(1.0, height + 1)
    columns = np.arange(1.0, width + 1)
    summed = rows[:width] if printed else rows
    # The kernel of bilinear sampling is 0 at a distance of one pixel or more.
    near = np.maximum(0, 1 - np.abs(rows[:, None] - summed)).sum(1)
    beside = np.maximum(0, 1 - np.abs(columns[:, None] - columns)).sum(1)
    output: Floats = np.outer(near, beside)
    return output


def compute_mean_estimate(glimpses: int, printed: bool) -> float:
    """Return the mean of the estimate in Eq. 47 for the score of the item with the answer.

    Every glimpse draws an item with equal weights. The reward is 1 if one of the glimpses drew the
    item with the answer. As printed, the sum over the glimpses is divided by their number. The
    corrected equation does not divide it.
    """
    ways_SM = np.indices((len(CHOICE.scores),) * glimpses).reshape(glimpses, -1).T
    chances = CHOICE.weights[ways_SM].prod(1)
    rewards = (ways_SM == RIGHT).any(1)
    summed = CHOICE.traces[ways_SM, RIGHT].sum(1)
    return float(chances @ (rewards * summed)) / (glimpses if printed else 1)

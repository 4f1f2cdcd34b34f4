"""Boundary keys, which score the first and the last item of an area.

With mean keys, a span never gets more weight than all of its items. With a size bias, or with
scores for the first and the last item, it can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, list_areas, softmax
from areaviz.trace.areas import Area, AreaGrid

WORDS = ("a", "young", "child", "runs")
ITEM_LOGITS: Floats = np.array([0.1, 1.0, 0.9, -0.4])
"""The dot product of query and key for every item. The numbers were invented for this question."""
GRID = AreaGrid(1, len(WORDS), 1, 3)
BEGINS, ENDS = 1, 2
"""The item whose start score the reader sets ("young"), and that of the end score ("child")."""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """The attention to all areas of the four words.

    Args:
        parts: the four terms of the logits [4, A]: mean, size bias, start and end score.
        logits, weights: the logit and the weight of every area [A].
    """

    parts: Floats
    logits: Floats
    weights: Floats


def attend(bias: float, start: float, end: float) -> Boundary:
    """Compute attention with the logits mean + bias * (size - 1) + start score + end score.

    Args:
        bias: the bias for every item after the first.
        start: the score of an area that begins with "young".
        end: the score of an area that ends with "child".
    """
    rows = []
    for area in list_areas(GRID):
        after = area.left + area.width
        first = start if area.left == BEGINS else 0.0
        last = end if after - 1 == ENDS else 0.0
        rows.append((ITEM_LOGITS[area.left : after].mean(), bias * (area.width - 1), first, last))
    parts = np.array(rows).T
    logits = parts.sum(0)
    return Boundary(parts, logits, softmax(logits))


def find_heaviest_area(found: Boundary) -> int:
    """Return the index of the area with the largest weight."""
    return int(found.weights.argmax())


def list_words(area: Area) -> str:
    """Return the words of an area, separated by spaces."""
    return " ".join(WORDS[area.left : area.left + area.width])

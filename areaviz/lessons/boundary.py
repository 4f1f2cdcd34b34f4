"""A key that knows where an area begins and ends, by which a span can outweigh its items.

Mean keys never put a span on top; a size bias, or scores for the first and the last item, do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, areas_of, softmax
from areaviz.trace.areas import Area, AreaGrid

WORDS = ("a", "young", "child", "runs")
ITEM_LOGITS: Floats = np.array([0.1, 1.0, 0.9, -0.4])
"""q . k of every item, made up for this page."""
GRID = AreaGrid(1, len(WORDS), 1, 3)
BEGINS, ENDS = 1, 2
"""The items whose start and end score the reader sets: "young" and "child"."""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """All areas of the four words.

    Args:
        parts: what the logits are the sums of, in the order of `PARTS`: [4, A].
        logits, weights: [A].
    """

    parts: Floats
    logits: Floats
    weights: Floats


def attend(bias: float, start: float, end: float) -> Boundary:
    """Return the softmax over mean + bias * (size - 1) + start of the first item + end of the last.

    Args:
        bias: added for every item after the first.
        start: of an area that begins with "young".
        end: of an area that ends with "child".
    """
    rows = []
    for area in areas_of(GRID):
        after = area.left + area.width
        first = start if area.left == BEGINS else 0.0
        last = end if after - 1 == ENDS else 0.0
        rows.append((ITEM_LOGITS[area.left : after].mean(), bias * (area.width - 1), first, last))
    parts = np.array(rows).T
    logits = parts.sum(0)
    return Boundary(parts, logits, softmax(logits))


def heaviest(found: Boundary) -> int:
    """Return the number of the heaviest area."""
    return int(found.weights.argmax())


def words_of(area: Area) -> str:
    """Return the words that an area holds."""
    return " ".join(WORDS[area.left : area.left + area.width])

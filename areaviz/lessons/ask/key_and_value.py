"""Question 3: what are the key and the value of an area?"""

from __future__ import annotations

import numpy as np

from areaviz.lessons.arithmetic import compute_area_means, compute_area_sums, format_number
from areaviz.lessons.ask.question_parts import QuestionData, Texts
from areaviz.trace.areas import Area, AreaGrid

ITEMS = (2, 3, 5, 6)
MEMORY = [[1, 2, 3], [4, 5, 6]]
MAX_VALUE = 20
"""The largest number on the line on which readers mark their answer."""


def make_question(texts: Texts) -> QuestionData:
    """Ask for the mean and the sum of an area."""
    items_HWD = np.array(ITEMS, dtype=float)[None, :, None]
    grid = AreaGrid(1, len(ITEMS), 1, len(ITEMS))
    whole = grid.index(Area(0, 0, 1, len(ITEMS)))
    mean = float(compute_area_means(items_HWD, grid)[whole, 0])
    total = float(compute_area_sums(items_HWD, grid)[whole, 0])
    given = [str(item) for item in ITEMS]
    numbers = {
        "given": given,
        "names": [texts["key"], texts["value"]],
        "least": 0,
        "most": MAX_VALUE,
        "answer": [mean, total],
    }
    words = {"items": ", ".join(given), "mean": format_number(mean), "sum": format_number(total)}
    return QuestionData(numbers, words, {"memory": MEMORY})

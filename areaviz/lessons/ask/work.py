"""Question 7: how many times as much work as regular attention does area attention need?"""

from __future__ import annotations

from areaviz.lessons import cost
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar
from areaviz.trace.areas import AreaGrid

GRID = AreaGrid(1, 256, 1, 5)


def make_question(texts: Texts) -> QuestionData:
    """Ask for the work of area attention as a multiple of the work of regular attention."""
    counts = cost.count_operations(GRID)
    built = counts["built areas"] / counts["regular"]
    factored = counts["factored"] / counts["regular"]
    numbers = {
        "names": [texts["guess"]],
        "least": 1,
        "most": 10,
        "step": 0.5,
        "near": 0.5,
        "answer": [built],
        "after": [
            make_bar(texts["regular"], 1, 2),
            make_bar(texts["built"], built, 2),
            make_bar(texts["factored"], factored, 2),
        ],
    }
    words = {
        "items": GRID.items,
        "longest": GRID.max_width,
        "areas": f"{GRID.count:,}",
        "built_times": f"{built:.2f}",
        "factored_times": f"{factored:.2f}",
    }
    deep = {"items": GRID.items, "longest": GRID.max_width, "depth": cost.DEPTH}
    return QuestionData(numbers, words, deep)

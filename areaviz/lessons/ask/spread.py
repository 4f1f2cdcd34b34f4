"""Question 5: several areas have an equal mean. In which of them do the items differ most?"""

from __future__ import annotations

import numpy as np

from areaviz.lessons import features
from areaviz.lessons.arithmetic import format_number, list_areas, select_items
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar

MEAN = 2.5


def get_key_weights() -> dict[str, list[list[float]]]:
    """Return the weights of the richer key. They were invented for the lesson."""
    return {
        "heights": features.HEIGHTS.tolist(),
        "widths": features.WIDTHS.tolist(),
        "mean": features.W_MEAN.tolist(),
        "deviation": features.W_DEVIATION.tolist(),
        "shape": features.W_SHAPE.tolist(),
        "out": features.W_OUT.tolist(),
    }


def make_question(texts: Texts) -> QuestionData:  # noqa: ARG001 - all questions have this signature
    """Ask which of the areas with an equal mean has the largest standard deviation."""
    names, deviations, areas = [], [], []
    for area in list_areas(features.GRID):
        numbers = select_items(features.MEMORY_HWD, area)[:, 0]
        if area.size > 1 and numbers.mean() == MEAN:
            names.append(", ".join(format_number(float(number)) for number in numbers))
            deviations.append(float(numbers.std()))
            areas.append([area.top, area.left, area.height, area.width])
    answer = int(np.argmax(deviations))
    after = [
        make_bar(name, deviation, 2) for name, deviation in zip(names, deviations, strict=True)
    ]
    drawn = {
        "memory": [
            [format_number(number) for number in row] for row in features.MEMORY_HWD[..., 0]
        ],
        "areas": areas,
        "after": after,
        "answer": answer,
        "options": names,
    }
    most = format_number(deviations[answer], 2)
    words = {"mean": format_number(MEAN), "widest": names[answer], "most": most}
    return QuestionData(
        drawn, words, {"memory": features.MEMORY_HWD.tolist(), "learned": get_key_weights()}
    )

"""Question 5: several areas have an equal mean. In which of them do the items differ most?"""

from __future__ import annotations

import numpy as np

from areaviz.lessons import features
from areaviz.lessons.arithmetic import areas_of, items_of, plain
from areaviz.lessons.ask.question_parts import Asked, Texts, bar

MEAN = 2.5


def learned() -> dict[str, list[list[float]]]:
    """Return the weights of the richer key. They were invented for the lesson."""
    return {
        "heights": features.HEIGHTS.tolist(),
        "widths": features.WIDTHS.tolist(),
        "mean": features.W_MEAN.tolist(),
        "deviation": features.W_DEVIATION.tolist(),
        "shape": features.W_SHAPE.tolist(),
        "out": features.W_OUT.tolist(),
    }


def ask(texts: Texts) -> Asked:  # noqa: ARG001 - all questions have this signature
    """Ask which of the areas with an equal mean has the largest standard deviation."""
    names, deviations, areas = [], [], []
    for area in areas_of(features.GRID):
        numbers = items_of(features.MEMORY_HWD, area)[:, 0]
        if area.size > 1 and numbers.mean() == MEAN:
            names.append(", ".join(plain(float(number)) for number in numbers))
            deviations.append(float(numbers.std()))
            areas.append([area.top, area.left, area.height, area.width])
    answer = int(np.argmax(deviations))
    after = [bar(name, deviation, 2) for name, deviation in zip(names, deviations, strict=True)]
    drawn = {
        "memory": [[plain(number) for number in row] for row in features.MEMORY_HWD[..., 0]],
        "areas": areas,
        "after": after,
        "answer": answer,
        "options": names,
    }
    most = plain(deviations[answer], 2)
    words = {"mean": plain(MEAN), "widest": names[answer], "most": most}
    return Asked(drawn, words, {"memory": features.MEMORY_HWD.tolist(), "learned": learned()})

"""Question 5: in which of the areas with one mean do the items differ most?"""

from __future__ import annotations

import numpy as np

from areaviz.lessons import features
from areaviz.lessons.arithmetic import areas_of, items_of, plain
from areaviz.lessons.ask.asked import Asked, Texts, bar

MEAN = 2.5


def ask(texts: Texts) -> Asked:  # noqa: ARG001 - all questions are asked alike
    """Ask which of the areas with one mean has the largest standard deviation."""
    names, deviations = [], []
    for area in areas_of(features.GRID):
        numbers = items_of(features.MEMORY_HWD, area)[:, 0]
        if area.size > 1 and numbers.mean() == MEAN:
            names.append(", ".join(plain(float(number)) for number in numbers))
            deviations.append(float(numbers.std()))
    answer = int(np.argmax(deviations))
    after = [bar(name, deviation, 2) for name, deviation in zip(names, deviations, strict=True)]
    drawn = {"before": [], "after": after, "answer": answer, "options": names}
    most = plain(deviations[answer], 2)
    return Asked(drawn, {"mean": plain(MEAN), "widest": names[answer], "most": most})

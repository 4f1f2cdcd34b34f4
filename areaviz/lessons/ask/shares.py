"""Question 4: what is the sum of the shares of attention that the items receive?"""

from __future__ import annotations

import numpy as np

from areaviz.lessons import attention
from areaviz.lessons.arithmetic import list_areas
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar

QUERY, LONGEST = (1.0, 0.0), 3


def make_question(texts: Texts) -> QuestionData:
    """Ask for the sum of the shares of attention that the items receive."""
    found = attention.attend(np.array(QUERY), LONGEST)
    before = []
    for area, weight in zip(list_areas(found.grid), found.weights, strict=True):
        key = "item" if area.width == 1 else "items"
        place = {"number": area.left + 1, "first": area.left + 1, "last": area.left + area.width}
        before.append(make_bar(texts[key].format(**place), float(weight), 3))
    after = []
    for number, share in enumerate(found.coverage, start=1):
        after.append(make_bar(texts["item"].format(number=number), float(share), 3))
    total = float(found.coverage.sum())
    numbers = {
        "names": [texts["sum"]],
        "least": 0,
        "most": 2,
        "step": 0.05,
        "near": 0.15,
        "before": before,
        "after": after,
        "answer": [total],
    }
    deep = {
        "keys": attention.KEYS_ND.tolist(),
        "values": attention.VALUES_ND.tolist(),
        "query": list(QUERY),
        "longest": LONGEST,
    }
    return QuestionData(numbers, {"sum": f"{total:.3f}", "longest": LONGEST}, deep)

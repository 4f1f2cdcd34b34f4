"""Question 1: which words does one head attend to as one area when the model writes a word?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from areaviz.app.examples import EXAMPLES
from areaviz.lessons.ask.question_parts import (
    QuestionData,
    Texts,
    list_word_items,
    list_word_texts,
    to_percent,
)
from areaviz.samples.paths import HERO
from areaviz.show.message import SITE
from areaviz.trace import file
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Field


def make_question(texts: Texts) -> QuestionData:
    """Ask which words one head attends to as one area when the model writes a word."""
    trace = file.load(HERO)
    found = trace.maps[SITE]
    written, read = trace.fields[found.query], trace.fields[found.memory]
    layer, head = EXAMPLES[0].focus.layer, EXAMPLES[0].focus.head or 0
    weights_QA = np.asarray(found.weights[layer, head], dtype=float)
    query = _find_clearest_phrase(weights_QA, found.grid, written, read)
    weights = weights_QA[query]
    number = int(weights.argmax())
    area = found.grid.area(number)
    words = list_word_items(read)
    within = set(range(area.left, area.left + area.width))
    held = [place for place, items in enumerate(words) if within & set(items)]
    texts_read = list_word_texts(read)
    asked = list_word_items(written)
    numbers = {
        "written": list_word_texts(written),
        "now": next(place for place, items in enumerate(asked) if query in items),
        "read": texts_read,
        "answer": [held[0], held[-1]],
        "captions": [texts["written"], texts["read"]],
    }
    return QuestionData(
        numbers,
        {
            "word": written.labels[query],
            "head": head + 1,
            "layer": layer + 1,
            "span": " ".join(texts_read[held[0] : held[-1] + 1]),
            "percent": to_percent(float(weights[number])),
            "areas": found.grid.count,
            "longest": found.grid.max_width,
            "pieces": texts["pieces"] if len(read.labels) > len(words) else "",
        },
        {"length": 4, "longest": 3},
    )


def _find_clearest_phrase(
    weights_QA: npt.NDArray[np.floating], grid: AreaGrid, written: Field, read: Field
) -> int:
    """Return the index of the written word whose top area has several words and most weight.

    Raises:
        ValueError: The top areas of all written words are single words.
    """
    found: list[tuple[float, int]] = []
    for items in list_word_items(written):
        query = items[0]
        number = int(weights_QA[query].argmax())
        area = grid.area(number)
        labels = read.labels[area.left : area.left + area.width]
        are_words = all(label.isalnum() for label in labels)
        if len(items) == 1 and written.labels[query].isalnum() and len(labels) > 1 and are_words:
            found.append((float(weights_QA[query, number]), query))
    if not found:
        raise ValueError("No word of the sentence on Home attends to several words as one.")
    return max(found)[1]

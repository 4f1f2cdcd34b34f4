"""The questions of the lessons: their texts, and the numbers of their pictures.

All answers are computed from stored traces or from the arithmetic of the lessons. Texts are in
`texts/NAME.toml`; the browser draws a question with the component `lesson`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.data.places import HERO
from areaviz.lessons import attention, boundary, features
from areaviz.lessons.arithmetic import area_means, area_sums, areas_of, items_of, plain
from areaviz.trace import codec
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import Field
from areaviz.ui.forms.samples import EXAMPLES

Texts = Mapping[str, Any]
SITE = "encoder-decoder"
"""Question 1 asks about this site in the sentence that Home shows."""
ITEMS = (2, 3, 5, 6)
MOST = 20
QUERY = (1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer.

    Args:
        numbers: what the picture draws.
        words: the values of the placeholders in the texts.
    """

    numbers: dict[str, Any]
    words: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the path.

    Args:
        name: of the file with its texts.
        picture: a key of `LESSON_PICTURES` in the component.
        lesson: the anchor of the lesson that goes deeper.
        ask: computes the question from its texts.
    """

    name: str
    picture: str
    lesson: str
    ask: Callable[[Texts], Asked]


def first_span(texts: Texts) -> Asked:
    """Ask which words one head takes as one to write a word."""
    trace = codec.load(HERO)
    found = trace.maps[SITE]
    written, read = trace.fields[found.query], trace.fields[found.memory]
    layer, head = EXAMPLES[0].focus.layer, EXAMPLES[0].focus.head or 0
    weights_QA = np.asarray(found.weights[layer, head], dtype=float)
    query = _clearest_phrase(weights_QA, found.grid, written, read)
    weights = weights_QA[query]
    number = int(weights.argmax())
    area = found.grid.area(number)
    words = word_items(read)
    within = set(range(area.left, area.left + area.width))
    held = [place for place, items in enumerate(words) if within & set(items)]
    texts_read = word_texts(read)
    asked = word_items(written)
    numbers = {
        "written": word_texts(written),
        "now": next(place for place, items in enumerate(asked) if query in items),
        "read": texts_read,
        "answer": [held[0], held[-1]],
        "captions": [texts["written"], texts["read"]],
    }
    return Asked(
        numbers,
        {
            "word": written.labels[query],
            "head": head + 1,
            "layer": layer + 1,
            "span": " ".join(texts_read[held[0] : held[-1] + 1]),
            "percent": round(100 * float(weights[number])),
            "areas": found.grid.count,
            "longest": found.grid.max_width,
        },
    )


def _clearest_phrase(
    weights_QA: npt.NDArray[np.floating], grid: AreaGrid, written: Field, read: Field
) -> int:
    """Return the whole word for which an area of several words has the largest weight.

    Raises:
        ValueError: No word of the text has such an area on top.
    """
    found: list[tuple[float, int]] = []
    for items in word_items(written):
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


def word_items(field: Field) -> list[list[int]]:
    """Return the items of every word of a text; marks and the end are words of their own."""
    found: list[list[int]] = []
    for item, label in enumerate(field.labels):
        joins = item > 0 and field.anchors[item][0] == field.anchors[item - 1][1]
        if joins and label.isalnum() and field.labels[item - 1].isalnum():
            found[-1].append(item)
        else:
            found.append([item])
    return found


def word_texts(field: Field) -> list[str]:
    """Return the words of a text as a reader sees them."""
    return ["".join(field.labels[item] for item in items) for items in word_items(field)]


def key_and_value(texts: Texts) -> Asked:
    """Ask for the mean and the sum of an area."""
    items_HWD = np.array(ITEMS, dtype=float)[None, :, None]
    grid = AreaGrid(1, len(ITEMS), 1, len(ITEMS))
    whole = grid.index(Area(0, 0, 1, len(ITEMS)))
    mean = float(area_means(items_HWD, grid)[whole, 0])
    total = float(area_sums(items_HWD, grid)[whole, 0])
    given = [str(item) for item in ITEMS]
    numbers = {
        "given": given,
        "names": [texts["key"], texts["value"]],
        "most": MOST,
        "answer": [mean, total],
    }
    return Asked(numbers, {"items": ", ".join(given), "mean": plain(mean), "sum": plain(total)})


def shares(texts: Texts) -> Asked:
    """Ask whether the shares of the items sum to 1."""
    found = attention.attend(np.array(QUERY), 3)
    before = []
    for area, weight in zip(areas_of(found.grid), found.weights, strict=True):
        key = "item" if area.width == 1 else "items"
        place = {"number": area.left + 1, "first": area.left + 1, "last": area.left + area.width}
        before.append(_bar(texts[key].format(**place), float(weight), 3))
    after = []
    for number, share in enumerate(found.coverage, start=1):
        after.append(_bar(texts["item"].format(number=number), float(share), 3))
    total = float(found.coverage.sum())
    answer = 1 if abs(total - 1) < 1e-9 else 2 * int(total > 1)
    numbers = {"before": before, "after": after, "answer": answer, "options": texts["options"]}
    return Asked(numbers, {"sum": f"{total:.3f}"})


def spread(texts: Texts) -> Asked:
    """Ask which of the areas with one mean has the largest standard deviation."""
    mean = 2.5
    names, deviations = [], []
    for area in areas_of(features.GRID):
        numbers = items_of(features.MEMORY_HWD, area)[:, 0]
        if area.size > 1 and numbers.mean() == mean:
            names.append(", ".join(plain(float(number)) for number in numbers))
            deviations.append(float(numbers.std()))
    answer = int(np.argmax(deviations))
    after = [_bar(name, deviation, 2) for name, deviation in zip(names, deviations, strict=True)]
    drawn = {"before": [], "after": after, "answer": answer, "options": names}
    most = plain(deviations[answer], 2)
    return Asked(drawn, {"mean": plain(mean), "widest": names[answer], "most": most})


def end_or_start(texts: Texts) -> Asked:
    """Ask whether a score of the first or of the last item lets a span win."""
    item, span = Area(0, 1, 1, 1), Area(0, 1, 1, 2)
    words = {"first": boundary.WORDS[1], "last": boundary.WORDS[2]}
    scores = [step / 10 for step in range(1, 11)]
    starts = [score for score in scores if _wins(span, boundary.attend(0, score, 0))]
    ends = [score for score in scores if _wins(span, boundary.attend(0, 0, score))]
    if starts or not ends:
        raise ValueError("Question 6 needs a start score that never lets the span win.")
    after = []
    for key, score, found in (
        ("with_start", scores[-1], boundary.attend(0, scores[-1], 0)),
        ("with_end", ends[0], boundary.attend(0, 0, ends[0])),
    ):
        for area in (item, span):
            name = texts[key].format(score=plain(score), words=boundary.words_of(area))
            after.append(_bar(name, _weight(area, found), 3))
    plainly = boundary.attend(0, 0, 0)
    words |= {"item": boundary.words_of(item), "span": boundary.words_of(span)}
    words |= {"item_percent": f"{100 * _weight(item, plainly):.1f}"}
    words |= {"span_percent": f"{100 * _weight(span, plainly):.1f}", "score": plain(ends[0])}
    options = [option.format(**words) for option in texts["options"]]
    return Asked({"before": [], "after": after, "answer": 1, "options": options}, words)


def _weight(area: Area, found: boundary.Boundary) -> float:
    return float(found.weights[boundary.GRID.index(area)])


def _wins(area: Area, found: boundary.Boundary) -> bool:
    return boundary.heaviest(found) == boundary.GRID.index(area)


def _bar(name: str, share: float, digits: int) -> list[Any]:
    """Return a bar as the browser draws it: its name, its length and its number."""
    return [name, share, f"{share:.{digits}f}"]


QUESTIONS: Mapping[int, Question] = {
    1: Question("first_span", "span", "sequence", first_span),
    3: Question("key_and_value", "marks", "mean-and-sum", key_and_value),
    4: Question("shares", "choice", "query-to-output", shares),
    5: Question("spread", "choice", "features", spread),
    6: Question("boundary", "choice", "boundary", end_or_start),
}
"""The questions by their number in the path."""


def question_data(number: int, is_shown: bool = False) -> dict[str, Any]:
    """Return what the component `lesson` draws.

    Args:
        number: a key of `QUESTIONS`.
        is_shown: whether the answer is shown at once.
    """
    question = QUESTIONS[number]
    own = _texts(question.name)
    asked = question.ask(own)
    path = list(QUESTIONS)
    place = path.index(number)
    words = {**asked.words, "place": place + 1, "count": len(path)}
    texts = {}
    for name, text in {**_texts("frame"), **own}.items():
        # The pictures fill in the other texts themselves.
        if name in _SHOWN or name in _texts("frame"):
            texts[name] = text.format(**words)
    links = {
        "back": f"?q={path[place - 1]}" if place else "",
        "next": f"?q={path[place + 1]}" if place + 1 < len(path) else "",
        "deeper": f"how_areas_work#{question.lesson}",
        "all": "how_areas_work",
    }
    return {
        "place": place + 1,
        "count": len(path),
        "shown": is_shown,
        "picture": question.picture,
        "numbers": asked.numbers,
        "texts": texts,
        "links": links,
    }


_SHOWN = ("question", "hint", "right", "close", "other", "told", "learned")


def _texts(name: str) -> Texts:
    """Return the texts of a file of `texts`."""
    text = files("areaviz.lessons").joinpath("texts", f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)

"""Question 6: which score can put a span on top?"""

from __future__ import annotations

from areaviz.lessons import boundary
from areaviz.lessons.arithmetic import format_number
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar
from areaviz.trace.areas import Area


def make_question(texts: Texts) -> QuestionData:
    """Ask whether a score of the first or of the last item lets a span win."""
    item, span = Area(0, 1, 1, 1), Area(0, 1, 1, 2)
    words = {"first": boundary.WORDS[1], "last": boundary.WORDS[2]}
    scores = [step / 10 for step in range(1, 11)]
    starts = [score for score in scores if _is_heaviest(span, boundary.attend(0, score, 0))]
    ends = [score for score in scores if _is_heaviest(span, boundary.attend(0, 0, score))]
    if starts or not ends:
        raise ValueError("Question 6 needs a start score that never lets the span win.")
    after = []
    for key, score, found in (
        ("with_start", scores[-1], boundary.attend(0, scores[-1], 0)),
        ("with_end", ends[0], boundary.attend(0, 0, ends[0])),
    ):
        for area in (item, span):
            name = texts[key].format(score=format_number(score), words=boundary.list_words(area))
            after.append(make_bar(name, _get_weight(area, found), 3))
    plainly = boundary.attend(0, 0, 0)
    before = [
        make_bar(f"“{boundary.list_words(area)}”", _get_weight(area, plainly), 3)
        for area in (item, span)
    ]
    words |= {"item": boundary.list_words(item), "span": boundary.list_words(span)}
    words |= {"item_percent": f"{100 * _get_weight(item, plainly):.1f}"}
    words |= {
        "span_percent": f"{100 * _get_weight(span, plainly):.1f}",
        "score": format_number(ends[0]),
    }
    options = [option.format(**words) for option in texts["options"]]
    deep = {
        "words": list(boundary.WORDS),
        "logits": boundary.ITEM_LOGITS.tolist(),
        "longest": boundary.GRID.max_width,
        "begins": boundary.BEGINS,
        "ends": boundary.ENDS,
    }
    numbers = {
        "words": list(boundary.WORDS),
        "span": [span.left, span.left + span.width - 1],
        "before": before,
        "after": after,
        "answer": 1,
        "options": options,
    }
    return QuestionData(numbers, words, deep)


def _get_weight(area: Area, found: boundary.Boundary) -> float:
    return float(found.weights[boundary.GRID.index(area)])


def _is_heaviest(area: Area, found: boundary.Boundary) -> bool:
    return boundary.find_heaviest_area(found) == boundary.GRID.index(area)

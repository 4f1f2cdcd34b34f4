"""The registry of all questions in their order, and their data for the browser.

The texts of a question are in `texts/NAME.toml`, and a function such as `make_work_question`
computes its numbers. All answers are computed from models, stored traces or the arithmetic of the
lessons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from areaviz.learn import computed_questions, model_questions
from areaviz.learn.question_data import QuestionData, Texts, load_texts, with_decimal_marks
from areaviz.texts.catalogue import ENGLISH
from areaviz.trace.errors import BackendError, InputError


@dataclass(frozen=True, slots=True)
class Question:
    """An entry of the registry.

    Args:
        name: the name of the file with the texts, without its extension.
        picture: the picture of the question, a key of `LESSON_PICTURES` in the component.
        lesson: the anchor of the question in old addresses, when all lessons were on one page.
        make: function that computes the question from its texts.
    """

    name: str
    picture: str
    lesson: str
    make: Callable[[Texts], QuestionData]


QUESTIONS: Mapping[int, Question] = {
    1: Question("first_span", "span", "sequence", model_questions.make_first_span_question),
    2: Question("rectangle", "rectangle", "grid", model_questions.make_rectangle_question),
    3: Question(
        "key_and_value", "marks", "mean-and-sum", computed_questions.make_key_and_value_question
    ),
    4: Question("shares", "marks", "query-to-output", computed_questions.make_shares_question),
    5: Question("spread", "grids", "features", computed_questions.make_spread_question),
    6: Question("boundary", "edges", "boundary", computed_questions.make_end_or_start_question),
    7: Question("work", "marks", "cost", computed_questions.make_work_question),
    8: Question("worth", "order", "worth", model_questions.make_worth_question),
    9: Question(
        "corners", "corners", "summed-area-table", computed_questions.make_corners_question
    ),
    10: Question("listeners", "marks", "listeners", model_questions.make_listeners_question),
    11: Question(
        "hard_choice", "marks", "hard-choice", computed_questions.make_hard_choice_question
    ),
    12: Question("window", "window", "transformed-window", computed_questions.make_window_question),
    13: Question("reason", "results", "reason", model_questions.make_reason_question),
}
"""The questions by number, in their order."""
MOVED = {"rounding": "?q=9&deep=1", "as-printed": "?q=9&deep=1"}
"""Where the addresses of two old lessons lead. Their contents are now in docs/misprints.md."""
OWN_AFTER = (3, 6, 12, 13)
"""Numbers of the questions that are followed by a link to translate one's own sentence."""
_SHOWN = ("title", "question", "hint", "right", "close", "other", "told", "learned")
"""Names of the texts whose placeholders are filled in here.

The browser fills in all other texts.
"""


def make_path_data(asked: int | None = None, language: str = ENGLISH) -> dict[str, Any]:
    """Return the data of the component `lesson`: all questions and their list.

    The browser gets all questions at once, so it needs no server to show the next one.

    Args:
        asked: the question to show first, a key of `QUESTIONS`, or None for the list.
        language: one of `catalogue.KNOWN`.

    Raises:
        InputError, BackendError: The question to show first cannot be computed, because its model
            is missing. Other questions without their model are left out.
    """
    questions = {}
    for number in QUESTIONS:
        try:
            questions[number] = make_question_data(number, language)
        except (InputError, BackendError):
            if number == asked:
                raise
    return {"questions": questions, "index": index_data(language)}


def make_question_data(number: int, language: str = ENGLISH) -> dict[str, Any]:
    """Return the data of the component `lesson` for one question.

    Args:
        number: a key of `QUESTIONS`.
        language: one of `catalogue.KNOWN`.
    """
    question = QUESTIONS[number]
    own, frame = load_texts(question.name, language), load_texts("frame", language)
    asked = question.make(own)
    words = {**with_decimal_marks(asked.words, language), "place": number, "count": len(QUESTIONS)}
    texts = {}
    for name, text in {**frame, **own}.items():
        if name in _SHOWN or name in frame:
            texts[name] = text.format(**words)
    return {
        "place": number,
        "count": len(QUESTIONS),
        "name": question.name,
        "picture": question.picture,
        "numbers": with_decimal_marks(asked.numbers, language),
        "deep": {
            "numbers": with_decimal_marks(asked.deep, language),
            "texts": _make_explanation_texts(own),
        },
        "texts": texts,
        "links": {
            "back": f"?q={number - 1}" if number > 1 else "",
            "next": f"?q={number + 1}" if number < len(QUESTIONS) else "",
            "all": "how_areas_work",
            "own": "translate" if number in OWN_AFTER else "",
        },
    }


def index_data(language: str = ENGLISH) -> dict[str, Any]:
    """Return the titles of all questions, and the new addresses of old lessons."""
    questions, old = [], {}
    for number, question in QUESTIONS.items():
        title = load_texts(question.name, language)["title"]
        questions.append({"title": title, "href": f"?q={number}"})
        old[question.lesson] = f"?q={number}&deep=1"
    return {
        "questions": questions,
        "old": {**old, **MOVED},
        "texts": dict(load_texts("index", language)),
    }


def _make_explanation_texts(own: Texts) -> dict[str, str]:
    """Return the texts behind "Go deeper". The browser fills in their placeholders."""
    return {name.removeprefix("deep_"): own[name] for name in own if name.startswith("deep_")}

"""Facts as an input: a request's text has sentences, each a fact, and last a question.

Shapes: N facts.
"""

from __future__ import annotations

import re

import numpy as np

from areaviz.trace.errors import InputError
from areaviz.trace.record import Field
from areaviz.trace.request import Request

Span = tuple[int, int]
"""Where a sentence starts and ends (exclusive) in the text, in characters."""
EXAMPLE = "Mary went to the kitchen. Where is Mary?"
_SENTENCE = re.compile(r"[^\s.?!][^.?!]*[.?!]*")


def sentences(text: str) -> list[Span]:
    """Where the sentences of a text lie; each ends with a full stop, or as the text does."""
    found = []
    for match in _SENTENCE.finditer(text):
        end = match.start() + len(match[0].rstrip())
        found.append((match.start(), end))
    return found


def story(text: str) -> tuple[list[Span], Span]:
    """The facts of a text, and its question.

    Raises:
        InputError: the last sentence is no question, or none stands before it.
    """
    *facts, question = sentences(text) or [(0, 0)]
    if not text[question[0] : question[1]].endswith("?"):
        raise InputError(
            f"The story ends without a question; add one that ends with “?”, for example: {EXAMPLE}"
        )
    if not facts:
        raise InputError(
            "There is a question but no fact; write at least one sentence before it, for example:"
            f" {EXAMPLE}"
        )
    return facts, question


def facts_field(text: str) -> Field:
    """The field of a request's facts, the oldest first."""
    facts = story(text)[0]
    labels = tuple(text[start:end] for start, end in facts)
    return Field("facts", "facts", text, labels, np.array(facts, np.int64))


def question_field(text: str) -> Field:
    """The field of a request's question, a text of its own of one item."""
    start, end = story(text)[1]
    question = text[start:end]
    return Field("question", "text", question, (question,), np.array([[0, len(question)]]))


def facts_problem(field: Field, request: Request) -> str:
    """Anchors are start and end (exclusive) of the request's facts, in characters."""
    try:
        facts = story(request.text)[0]
    except InputError:
        return "is of facts but the request's text is no story"
    is_same = np.array_equal(np.array(facts), field.anchors) and field.raw == request.text
    return "" if is_same else "has other facts than the request"

"""Facts as an input: the text of a request is a sequence of facts followed by a question.

Shapes: N facts.
"""

from __future__ import annotations

import re

import numpy as np

from areaviz.trace.errors import InputError
from areaviz.trace.kind import Kind
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Request

Span = tuple[int, int]
"""Start and end (exclusive) of a sentence in the text, in characters."""
GOLD = "gold facts"
"""Key in `Trace.details` for the numbers, from 1, of the facts that answer the question."""
EXPECTED = "expected answer"
"""Key in `Trace.details` for the answer that is known to be right."""
EXAMPLE = "Mary went to the kitchen. Where is Mary?"
_SENTENCE = re.compile(r"[^\s.?!][^.?!]*[.?!]*")


def locate_sentences(text: str) -> list[Span]:
    """Locate the sentences of a text. A sentence ends with ".", "?", "!" or the end of the text."""
    found = []
    for match in _SENTENCE.finditer(text):
        end = match.start() + len(match[0].rstrip())
        found.append((match.start(), end))
    return found


def split_story(text: str) -> tuple[list[Span], Span]:
    """Split a text into its facts and its question.

    Raises:
        InputError: The last sentence is not a question, or there is no fact before it.
    """
    *facts, question = locate_sentences(text) or [(0, 0)]
    if not text[question[0] : question[1]].endswith("?"):
        raise InputError(
            "The story has no question at its end. Add one that ends with “?”, for example:"
            f" {EXAMPLE}"
        )
    if not facts:
        raise InputError(
            "The question has no facts. Write at least one sentence before it, for example:"
            f" {EXAMPLE}"
        )
    return facts, question


def make_facts_field(text: str) -> Field:
    """Return the field of a request's facts, oldest first."""
    facts = split_story(text)[0]
    labels = tuple(text[start:end] for start, end in facts)
    return Field("facts", "facts", text, labels, np.array(facts, np.int64))


def make_question_field(text: str) -> Field:
    """Return the field of a request's question, which has the whole question as its only item."""
    start, end = split_story(text)[1]
    question = text[start:end]
    return Field("question", "text", question, (question,), np.array([[0, len(question)]]))


def list_gold_facts(trace: Trace) -> tuple[int, ...]:
    """Return the 0-based indices of the facts known to answer the question."""
    numbers = trace.details.get(GOLD, "").split()
    count = len(trace.fields["facts"])
    return tuple(int(one) - 1 for one in numbers if one.isdecimal() and 0 < int(one) <= count)


def find_facts_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) of the request's facts, in characters."""
    try:
        facts = split_story(request.text)[0]
    except InputError:
        return "is of facts but the request's text is not a story"
    is_same = np.array_equal(np.array(facts), field.anchors) and field.raw == request.text
    return "" if is_same else "has other facts than the request"


FACTS = Kind(
    "facts",
    "facts",
    2,
    find_facts_problem,
    EXAMPLE,
    in_text=True,
    named="“{}”",
    hidden="Its place in the story stays, so facts before it are as old as they were.",
)

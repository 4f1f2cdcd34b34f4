"""The check that an error message is a short sentence, with at most two more about what to do."""

from __future__ import annotations

import re

from areaviz.trace.errors import InputError

MAX_CHARACTERS, MAX_WORDS, MAX_ADVICE_WORDS = 200, 33, 25


def assert_one_sentence(error: InputError | str) -> None:
    """Check that an error message is short and plain.

    It says what is wrong, and may add what to do.
    """
    text = str(error)
    assert text.endswith(".") and len(text) < MAX_CHARACTERS, text
    assert "\n" not in text and "  " not in text and "!" not in text, text
    problem, *advice = re.split(r"(?<=\.) (?=[A-Z])", text)
    assert ". " not in problem and len(problem.split()) <= MAX_WORDS, text
    assert len(advice) <= 2, text
    for sentence in advice:
        assert ". " not in sentence and len(sentence.split()) <= MAX_ADVICE_WORDS, text

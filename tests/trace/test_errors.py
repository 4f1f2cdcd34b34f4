"""Errors that carry advice, worded for each kind of caller."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import get_args

import pytest

from areaviz.trace.errors import IN_PYTHON, InputError, InputErrorWithAdvice, Way, without_traceback

WAYS = get_args(Way)


def test_python_advice_covers_every_way() -> None:
    assert set(IN_PYTHON) == set(WAYS)


@pytest.mark.parametrize("ways", [*combinations(WAYS, 1), *combinations(WAYS, 2), WAYS])
def test_message_names_ways_in_order(ways: tuple[Way, ...]) -> None:
    error = InputErrorWithAdvice("It is too large", *ways)
    places = [str(error).lower().index(IN_PYTHON[way].lower()) for way in ways]
    assert places == sorted(places) and str(error).startswith("It is too large. ")
    assert str(error).endswith(".") and isinstance(error, InputError)


def test_ways_without_words_are_left_out() -> None:
    error = InputErrorWithAdvice("It is too large", "input", "heads", "areas")
    words: dict[Way, str] = {"input": "shorten the text", "areas": "take smaller ones"}
    assert error.said(words) == "It is too large. Shorten the text or take smaller ones."
    assert error.said(words, "leave it").endswith("text, take smaller ones or leave it.")
    assert error.said({}, "leave it") == "It is too large. Leave it."


def test_advised_error_survives_pickling() -> None:
    error = InputErrorWithAdvice("It is too large", "layers", "input")
    found = pickle.loads(pickle.dumps(error))
    assert str(found) == str(error) and found.said({}, "stop") == "It is too large. Stop."


@pytest.mark.parametrize(
    "error",
    [
        InputError("too long"),
        InputErrorWithAdvice("It takes 9 MB, but the limit is 8", "heads"),
    ],
)
def test_kept_error_has_the_sentence_but_no_frames(error: InputError) -> None:
    with pytest.raises(InputError) as raised:
        try:
            raise ValueError("the cause")
        except ValueError as cause:
            raise error from cause
    kept = without_traceback(raised.value)
    assert type(kept) is type(error) and str(kept) == str(error)
    assert (kept.__traceback__, kept.__cause__, kept.__context__) == (None, None, None)

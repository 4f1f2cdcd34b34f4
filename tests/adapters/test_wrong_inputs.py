"""Generated wrong, missing and extra inputs give a result or one sentence of advice."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

import areaviz
from areaviz.trace.errors import InputError
from tests.adapters import small
from tests.adapters.wrong_inputs import (
    GIVEN,
    MODELS,
    OPTIONS,
    calls_of,
    cases,
    function_cases,
    problem,
    problem_of,
)

MODEL_CASES, FUNCTION_CASES = 180, 120


@pytest.fixture(autouse=True)
def without_a_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep tests from looking up names on the hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield


@pytest.mark.long
def test_attend_answers_any_combination() -> None:
    drawn = list(islice(cases(), MODEL_CASES))
    assert len({case.architecture for case in drawn}) > 80
    wrong = {str(case): found for case in drawn if (found := problem(case))}
    assert not wrong


def test_public_functions_answer_any_arguments() -> None:
    drawn = islice(function_cases(), FUNCTION_CASES)
    wrong = {name: found for name, call in drawn if (found := problem_of(call))}
    assert not wrong


def test_every_public_function_is_called() -> None:
    trace = areaviz.from_arrays(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    public = {name for name in areaviz.__all__ if inspect.isfunction(getattr(areaviz, name))}
    assert public <= set(calls_of(trace, None, None))


def test_sample_has_every_part() -> None:
    drawn = list(islice(cases(1), 3000))
    assert {case.model for case in drawn} == set(MODELS)
    assert {case.given for case in drawn} == set(GIVEN)
    assert {case.option for case in drawn} == set(OPTIONS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"area_size": "3"}, "\"area_size\" is '3' but must be a number"),
        ({"layers": 1}, "layers= must list whole numbers"),
        ({"heads": ["first"]}, "heads= must list whole numbers but has 'first'"),
        ({"sites": "encoder self"}, "sites= must list names"),
        ({"tokenizer": object()}, "tokenizer is of type object"),
        ({"example": -1}, "between 0 and"),
    ],
)
def test_wrong_option_is_refused_by_its_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        areaviz.attend(small.bert(), [5, 6], **options)


def test_problem_of_finds_invalid_messages() -> None:
    def raises(error: Exception) -> Any:
        raise error

    assert problem_of(lambda: raises(ValueError("bad"))) == "ValueError: bad"
    assert problem_of(lambda: raises(InputError("no sentence"))).startswith("no sentence")
    assert problem_of(lambda: raises(InputError(f"It is {object()}."))).startswith("no sentence")
    assert problem_of(lambda: torch.zeros(1)) == ""

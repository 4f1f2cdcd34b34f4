"""Failures in external code, which become one sentence with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from areaviz.trace.errors import BackendError, InputError

_Result = TypeVar("_Result")
_LONGEST = 200


def describe_reason(error: BaseException) -> str:
    """Return the message of an exception as one line of at most 200 characters."""
    said = " ".join(str(error).split()).rstrip(".")
    return (said or type(error).__name__)[:_LONGEST]


class Failed(InputError):
    """A model's code failed on its input."""

    def __init__(self, model: object, error: BaseException, advice: str = "") -> None:
        self.what = f"{type(model).__name__} fails on this input ({describe_reason(error)})"
        super().__init__(f"{self.what}. {advice or 'Give it an input that it accepts'}.")


def run_or_refuse(model: object, run: Callable[[], _Result], advice: str = "") -> _Result:
    """Run a model's code, and raise any exception as an InputError with one sentence.

    Args:
        model: Model whose class the message names.
        run: Calls the model.
        advice: What users can do, as a sentence.

    Raises:
        InputError: The model raised an exception of any kind.
    """
    try:
        return run()
    except (InputError, BackendError):
        raise
    except Exception as error:
        # Libraries raise many kinds of exceptions. Each means that the model cannot read this
        # input.
        raise Failed(model, error, advice) from error

"""Failures in external code: any exception becomes one sentence with its reason."""

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
    """Raised if a model's code fails on its input."""

    def __init__(self, model: object, error: BaseException, advice: str = "") -> None:
        self.what = f"{type(model).__name__} fails on this input ({describe_reason(error)})"
        super().__init__(f"{self.what}. {advice or 'Give it an input that it accepts'}.")


def run_or_refuse(model: object, run: Callable[[], _Result], advice: str = "") -> _Result:
    """Run a model's code, and turn any exception into one sentence.

    Args:
        model: Model whose class is named.
        run: Calls the model.
        advice: What the user can do.

    Raises:
        InputError: The model raised an exception of any kind.
    """
    try:
        return run()
    except (InputError, BackendError):
        raise
    except Exception as error:
        # Libraries raise different exceptions, but each means that this input cannot be read.
        raise Failed(model, error, advice) from error

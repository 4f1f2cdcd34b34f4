"""What goes wrong in the code of others: one sentence with their reason, whatever they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from areaviz.trace.errors import BackendError, InputError

_Result = TypeVar("_Result")
_LONGEST = 200


def reason_of(error: BaseException) -> str:
    """Return what an exception says in one line of at most 200 characters."""
    said = " ".join(str(error).split()).rstrip(".")
    return (said or type(error).__name__)[:_LONGEST]


class Failed(InputError):
    """The code of a model raised an exception on its input."""

    def __init__(self, model: object, error: BaseException, advice: str = "") -> None:
        self.what = f"{type(model).__name__} fails on this input ({reason_of(error)})"
        super().__init__(f"{self.what}; {advice or 'give it the input that it takes'}.")


def run_or_refuse(model: object, run: Callable[[], _Result], advice: str = "") -> _Result:
    """Run the code of a model, and refuse what it raises in one sentence.

    Args:
        model: whose class is named.
        run: calls the model.
        advice: what the reader can do.

    Raises:
        InputError: the model raises an exception of any kind.
    """
    try:
        return run()
    except (InputError, BackendError):
        raise
    except Exception as error:
        # Every library fails in its own way, and each way means that this input cannot be read.
        raise Failed(model, error, advice) from error

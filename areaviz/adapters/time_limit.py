"""A time limit for code that a model's folder brings, such as the template of its questions."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from areaviz.trace.errors import InputError

T = TypeVar("T")

# A template is written in milliseconds, so this is enough on a busy machine, too.
TEMPLATE_SECONDS = 5.0


class _Expired(BaseException):
    """Ends the thread of work that took too long; nothing below it may catch it as an Exception."""


def run_within(seconds: float, what: str, work: Callable[[], T]) -> T:
    """Return what `work` returns, or end it.

    The work runs in a thread of its own. An exception is raised there when the time is over, which
    ends any loop of Python code, and so any template.

    Args:
        seconds: how long the work may take.
        what: names the work in the error, such as "The chat template".
        work: raises what it likes; the error is raised here.

    Raises:
        InputError: the work took longer.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="areaviz-limited", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _end(thread)
        raise InputError(f"{what} takes longer than {seconds:g} seconds. Choose another model.")
    if errors:
        raise errors[0]
    return results[0]


def _end(thread: threading.Thread) -> None:
    identity = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(_Expired))

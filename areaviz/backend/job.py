"""A request in the worker, and conversion of errors to messages for users."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from areaviz.backend.base import Caller
from areaviz.shares.visitors import Visitor
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """A request that waits, runs or has ended. The calling thread reads what the worker writes.

    Args:
        request: the request.
        caller: the caller.
        seconds: the predicted time of one processor.
        work: a function to run instead of the model, for work that returns no trace. It is never in
            a batch with other jobs.
    """

    request: Request
    caller: Caller
    seconds: float = 0.0
    work: Callable[[Progress], Any] | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    progress: tuple[float, str] = (0.0, "Waiting for the model")
    result: Any = None
    error: Exception | None = None
    # True if the caller no longer waits.
    has_left: bool = False

    @property
    def visitor(self) -> Visitor | None:
        """The user who sent the request, or None for a command or a program."""
        return self.caller.visitor

    @property
    def kind(self) -> Request:
        """The options that the requests of one batch share."""
        target = None if self.request.target is None else ""
        return replace(self.request.without_media(), text="", target=target)

    def can_join(self, first: Job) -> bool:
        """Return whether this job can run in one batch with another one."""
        is_run = self.work is None and first.work is None
        is_other_reader = self.visitor is None or self.visitor != first.visitor
        return is_run and is_other_reader and self.kind == first.kind


class AllLeft(Exception):
    """An error that ends a batch when no caller waits for it any more."""


def convert_to_sentence(error: BaseException) -> Exception:
    """Return the error for users that corresponds to an error, and log unexpected errors."""
    if isinstance(error, InputError | BackendError | AllLeft):
        return error
    log.error("While a model ran", exc_info=error)
    return BackendError(
        "The model stopped with an error, which was written to the app's log. Try again."
    )

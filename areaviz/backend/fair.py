"""A backend in front of all others of an app: no reader has too many questions there at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from areaviz.backend.base import OWN_WORK, Backend, Caller, Wrapper
from areaviz.shares.counters import Shares
from areaviz.shares.limits import QUESTIONS_AT_ONCE
from areaviz.trace.logits import Logits
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request


class FairBackend(Wrapper):
    """Wraps a backend and refuses questions beyond the share of their reader or address.

    Analyses are counted by their jobs (`areaviz/analysis/jobs.py`), not here.

    Attributes:
        questions: how many questions each reader has running or waiting.

    Args:
        inner: runs the requests.
    """

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.questions = Shares(QUESTIONS_AT_ONCE)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run a request, see `Backend`; raise OverLimit where its reader has too many."""
        with self._counted(caller):
            return self._inner.trace(request, progress, caller)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of logits, see `Explaining`; raise OverLimit as `trace`."""
        with self._counted(caller):
            return super().logits(request, site, layer, progress, caller)

    @contextmanager
    def _counted(self, caller: Caller) -> Iterator[None]:
        if caller.visitor is None or caller.in_background:
            yield
            return
        with self.questions.holding(caller.visitor):
            yield

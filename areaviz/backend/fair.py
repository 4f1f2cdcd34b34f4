"""A backend that limits the questions of each user, in front of an app's other backends."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from areaviz.backend.base import OWN_WORK, Backend, Caller, Wrapper
from areaviz.backend.costs import Costs, read_costs
from areaviz.shares.counters import Shares
from areaviz.shares.limits import QUESTIONS_AT_ONCE
from areaviz.trace.derived import Logits
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request


class FairBackend(Wrapper):
    """A backend that refuses questions beyond the share of their user or network address.

    Analyses are counted by their jobs (`areaviz/analysis/jobs.py`), not here.

    Attributes:
        questions: number of running and waiting questions per user.

    Args:
        inner: runs the requests.
    """

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.questions = Shares(QUESTIONS_AT_ONCE)
        self._table = read_costs()
        self._lock = threading.Lock()
        # The predicted seconds of running and waiting questions, by user.
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run a request, see `Backend`. Raise OverLimit if its user has too many questions."""
        with self._counted(request, caller):
            return self._inner.trace(request, progress, caller)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of logits, see `Explaining`. Raise OverLimit as `trace`."""
        with self._counted(request, caller):
            return super().logits(request, site, layer, progress, caller)

    def load_by_reader(self) -> list[dict[str, object]]:
        """Return the current load of each user, for the operator.

        Returns:
            For each user with questions: a mark, the number of running and waiting questions, and
            their predicted seconds of computation.
        """
        found: list[dict[str, object]] = []
        for reader, count in self.questions.by_reader().items():
            with self._lock:
                seconds = round(self._seconds.get(reader, 0.0), 1)
            mark = find_mark(reader)
            found.append({"reader": mark, "questions": int(count), "seconds": seconds})
        return found

    @contextmanager
    def _counted(self, request: Request, caller: Caller) -> Iterator[None]:
        visitor = caller.visitor
        if visitor is None or caller.in_background:
            yield
            return
        seconds = Costs(self.models(), self._table).predict(request)
        with self.questions.holding(visitor):
            self._add(visitor.reader, seconds)
            try:
                yield
            finally:
                self._add(visitor.reader, -seconds)

    def _add(self, reader: str, seconds: float) -> None:
        with self._lock:
            self._seconds[reader] += seconds
            if self._seconds[reader] < 1e-6:
                del self._seconds[reader]


def find_mark(reader: str) -> str:
    """Return a short mark of a user for the operator. It does not give access to the session."""
    if not reader:
        return "without a cookie"
    return hashlib.sha256(reader.encode()).hexdigest()[:8]

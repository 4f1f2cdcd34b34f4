"""The one owner of the device: a thread that takes requests from two short queues and runs like
ones together.

What readers wait for stands in the first queue. What runs in the background, for analyses, stands
in the second, which is served when the first is empty, and in small batches while readers are
about.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from areaviz.backend.base import Progress
from areaviz.backend.pace import Pace
from areaviz.trace.errors import BackendError, Busy, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

log = logging.getLogger(__name__)
Report = Callable[[float, str], None]
Run = Callable[[Sequence[Request], Report], list[Trace]]
"""Runs requests that share everything but their input and a given output; raises for the whole
batch.
"""

GIVE_WAY = 3
"""How often a request of the background is broken off for readers and begun anew, before it runs to
its end.
"""
POLL_SECONDS, TELL_SECONDS = 0.03, 0.5
"""How often one who waits looks whether the result is there, and is told how far it is even where
nothing changed: a page that was left or changed meanwhile ends its thread when it is told.
"""


@dataclass(slots=True, eq=False)
class _Job:
    request: Request
    background: bool = False
    finished: threading.Event = field(default_factory=threading.Event)
    progress: tuple[float, str] = (0.0, "Waiting for the model")
    trace: Trace | None = None
    error: Exception | None = None
    left: bool = False
    gave_way: int = 0


class _AllLeft(Exception):
    """Nobody waits for the batch any more."""


class _GaveWay(Exception):
    """A reader came while a batch ran in the background."""


class Worker:
    """Runs requests one batch at a time, in the order they came, those of the background last.

    max_waiting: how many requests may wait in each queue. max_batch: how many run together. A batch
    that fails is run again one by one, so that a request too large for the device fails alone.
    Whatever happens to the thread, those whose requests it ran get an error that says so, and the
    next request runs.
    """

    def __init__(
        self, run: Run, max_waiting: int = 32, max_batch: int = 8, pace: Pace | None = None
    ) -> None:
        self._run, self._max_waiting, self._max_batch = run, max_waiting, max_batch
        self._pace = pace or Pace()
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._background: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._thread = self._started()

    def waiting(self) -> int:
        """How many requests wait behind those that run."""
        with self._changed:
            return len(self._waiting) + len(self._background)

    def submit(
        self, request: Request, progress: Progress | None = None, background: bool = False
    ) -> Trace:
        """Wait for the result, reporting progress from the calling thread.

        What `progress` raises ends the waiting and is raised; the request is then no longer run.

        Args:
            background: no reader waits for it; it runs when none waits for another.

        Raises:
            Busy: too many requests wait already.
            InputError, BackendError: as the run; any other error of it is a BackendError, too.
        """
        job = self._enqueued(request, background)
        try:
            self._wait(job, progress or (lambda share, what: None))
        except BaseException:
            self._leave(job)
            raise
        if job.error is not None:
            raise job.error
        assert job.trace is not None
        return job.trace

    def _enqueued(self, request: Request, background: bool) -> _Job:
        job = _Job(request, background)
        with self._changed:
            if not background:
                self._pace.reader_came()
            queue = self._queue(job)
            if len(queue) >= self._max_waiting:
                raise Busy(
                    f"The models are busy: {self._max_waiting} requests are waiting already; try"
                    " again in a moment."
                )
            queue.append(job)
            self._changed.notify()
        return job

    def _queue(self, job: _Job) -> deque[_Job]:
        return self._background if job.background else self._waiting

    def _wait(self, job: _Job, progress: Progress) -> None:
        told, when = None, 0.0
        while not job.finished.wait(POLL_SECONDS):
            self._revive()
            state, now = self._state(job), time.monotonic()
            if state != told or now - when >= TELL_SECONDS:
                told, when = state, now
                progress(*state)

    def _state(self, job: _Job) -> tuple[float, str]:
        """How far a job is, or how many stand before it."""
        with self._changed:
            queue = self._queue(job)
            if job not in queue:
                return job.progress
            before = (
                queue.index(job)
                + len(self._running)
                + (len(self._waiting) if job.background else 0)
            )
        if not before:
            return job.progress
        many = f"{before} requests are" if before > 1 else "1 request is"
        return 0.0, f"Waiting for the model: {many} before yours; it starts by itself"

    def _leave(self, job: _Job) -> None:
        with self._changed:
            job.left = True
            if job in self._queue(job):
                self._queue(job).remove(job)

    def _revive(self) -> None:
        """Begin anew where the thread has ended, which only something from outside can
        make it do.
        """
        with self._changed:
            if self._thread.is_alive():
                return
            log.error("The thread of the models had ended; another one was started.")
            for job in self._running:
                job.error = job.error or BackendError(
                    "The model was stopped while it ran; try again."
                )
                job.finished.set()
            self._running = []
            self._thread = self._started()

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="areaviz-worker", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while True:
            jobs = self._next_batch()
            try:
                self._answer_in_time(jobs)
            except _GaveWay:
                self._put_back(jobs)
                continue
            except (
                BaseException
            ) as error:  # one request's failure must not end the thread all others wait for
                self._answer_singly(jobs, error)
            with self._changed:
                self._running = []
            for job in jobs:
                job.finished.set()

    def _next_batch(self) -> list[_Job]:
        """The first waiting job and those right behind it that can run with it."""
        with self._changed:
            while not (self._waiting or self._background):
                self._changed.wait()
            queue = self._waiting or self._background
            kind = _kind(queue[0].request)
            most = (
                self._pace.most(kind, self._max_batch) if queue[0].background else self._max_batch
            )
            while queue and len(self._running) < most and _kind(queue[0].request) == kind:
                self._running.append(queue.popleft())
            return list(self._running)

    def _answer_in_time(self, jobs: list[_Job]) -> None:
        """As `_answer`; in the background it is measured, and gives way at its next step to a
        reader who comes.
        """
        if not jobs[0].background:
            self._answer(jobs)
            return
        start = time.monotonic()
        self._answer(jobs, gives_way=all(job.gave_way < GIVE_WAY for job in jobs))
        self._pace.took(_kind(jobs[0].request), len(jobs), time.monotonic() - start)

    def _put_back(self, jobs: list[_Job]) -> None:
        for job in jobs:
            job.gave_way += 1
        with self._changed:
            self._background.extendleft(reversed([job for job in jobs if not job.left]))
            self._running = []

    def _answer(self, jobs: list[_Job], gives_way: bool = False) -> None:
        def report(share: float, what: str) -> None:
            if gives_way and self._waiting:
                raise _GaveWay
            if all(job.left for job in jobs):
                raise _AllLeft
            for job in jobs:
                job.progress = (share, what)

        traces = self._run([job.request for job in jobs], report)
        for job, trace in zip(jobs, traces, strict=True):
            job.trace = trace

    def _answer_singly(self, jobs: list[_Job], error: BaseException) -> None:
        if len(jobs) == 1:
            jobs[0].error = _named(error)
            return
        for job in jobs:
            try:
                self._answer([job])
            except BaseException as own:
                job.error = _named(own)


def _named(error: BaseException) -> Exception:
    """An error whose message is a sentence for people."""
    if isinstance(error, InputError | BackendError | _AllLeft):
        return error
    log.error("While a model ran", exc_info=error)
    return BackendError(
        "The model stopped with an error, which was written to the app's log; try again."
    )


def _kind(request: Request) -> Request:
    """What requests of one batch share."""
    return replace(request, text="", picture=None, target=None if request.target is None else "")

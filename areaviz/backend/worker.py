"""The one owner of the device: a thread that takes requests from two queues, like ones in batches.

Requests of readers stand in the first queue. Those of analyses, in the background, stand in the
second, which is served when the first is empty, in small batches while readers are active.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from areaviz.backend.pace import Pace
from areaviz.trace.errors import BackendError, Busy, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)

T = TypeVar("T")

# Runs requests that differ in their input and given output only; raises for the whole batch.
Run = Callable[[Sequence[Request], Progress], list[Trace]]

# How often a request in the background is interrupted for readers before it runs to its end.
MAX_INTERRUPTIONS = 3

# How often a waiting caller looks for its result, and how often its progress is called even where
# nothing changed, so that a page left meanwhile can end its thread.
POLL_SECONDS, PROGRESS_SECONDS = 0.03, 0.5


@dataclass(slots=True, eq=False)
class _Job:
    request: Request
    background: bool = False
    finished: threading.Event = field(default_factory=threading.Event)
    progress: tuple[float, str] = (0.0, "Waiting for the model")
    # What is done alone, in place of a run that gives the request's trace.
    work: Callable[[Progress], Any] | None = None
    result: Any = None
    error: Exception | None = None
    # Whether its caller no longer waits.
    left: bool = False
    interruptions: int = 0


class _AllLeft(Exception):
    """Nobody waits for the batch any more."""


class _Interrupted(Exception):
    """A reader came while a batch ran in the background."""


class Worker:
    """Runs requests one batch at a time, in the order they came, those in the background last.

    A batch that fails is run again one by one, so that a request too large for the device fails
    alone. If the thread ends, the callers whose requests it ran get an error that says so, and the
    next request runs.

    Args:
        run: runs a batch.
        max_waiting: how many requests may wait in each queue.
        max_batch: how many run together.
    """

    def __init__(self, run: Run, max_waiting: int = 32, max_batch: int = 8) -> None:
        self._run, self._max_waiting, self._max_batch = run, max_waiting, max_batch
        self._pace = Pace()
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._background: deque[_Job] = deque()
        self._running: list[_Job] = []
        self._thread = self._start()

    def waiting(self) -> int:
        """How many requests wait behind those that run."""
        with self._changed:
            return len(self._waiting) + len(self._background)

    def submit(
        self, request: Request, progress: Progress | None = None, background: bool = False
    ) -> Trace:
        """Wait for the result, calling `progress` in the calling thread.

        What `progress` raises ends the waiting and is raised; the request is then no longer run.

        Args:
            background: no reader waits for it; it runs when none waits for another.

        Raises:
            Busy: too many requests wait already.
            InputError, BackendError: as the run; any other error of it is a BackendError, too.
        """
        trace: Trace = self._answer(_Job(request, background), progress)
        return trace

    def alone(
        self, request: Request, work: Callable[[Progress], T], progress: Progress | None = None
    ) -> T:
        """The same for work on a request that is no run of a batch; it never waits for analyses.

        Args:
            request: what the work is on.
            work: is done in the worker's thread, with what reports its progress.
            progress: as in `submit`.
        """
        result: T = self._answer(_Job(request, work=work), progress)
        return result

    def _answer(self, job: _Job, progress: Progress | None) -> Any:
        self._enqueue(job)
        try:
            self._wait(job, progress)
        except BaseException:
            self._leave(job)
            raise
        if job.error is not None:
            raise job.error
        return job.result

    def _enqueue(self, job: _Job) -> None:
        with self._changed:
            if not job.background:
                self._pace.reader_came()
            queue = self._queue(job)
            if len(queue) >= self._max_waiting:
                raise Busy(
                    f"The models are busy: {self._max_waiting} requests are waiting already; try"
                    " again in a moment."
                )
            queue.append(job)
            self._changed.notify()

    def _queue(self, job: _Job) -> deque[_Job]:
        return self._background if job.background else self._waiting

    def _wait(self, job: _Job, progress: Progress | None) -> None:
        reported, when = None, 0.0
        while not job.finished.wait(POLL_SECONDS):
            self._revive()
            state, now = self._state(job), time.monotonic()
            if progress and (state != reported or now - when >= PROGRESS_SECONDS):
                reported, when = state, now
                progress(*state)

    def _state(self, job: _Job) -> tuple[float, str]:
        """The progress of a job, or how many requests are before it."""
        with self._changed:
            queue = self._queue(job)
            if job not in queue:
                return job.progress
            before = queue.index(job) + len(self._running)
            if job.background:
                before += len(self._waiting)
        if not before:
            return job.progress
        count = f"{before} requests are" if before > 1 else "1 request is"
        return 0.0, f"Waiting for the model: {count} before yours; it starts by itself"

    def _leave(self, job: _Job) -> None:
        with self._changed:
            job.left = True
            if job in self._queue(job):
                self._queue(job).remove(job)

    def _revive(self) -> None:
        """Start a new thread where the old one has ended, which only an outside cause can do."""
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
            self._thread = self._start()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="areaviz-worker", daemon=True)
        thread.start()
        return thread

    def _work(self) -> None:
        while True:
            jobs = self._next_batch()
            try:
                self._run_batch(jobs)
            except _Interrupted:
                self._put_back(jobs)
                continue
            # One request's failure, of whatever kind, must not end the thread all others wait for.
            except BaseException as error:
                self._run_singly(jobs, error)
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
            kind, most = _kind(queue[0]), self._max_batch
            if queue is self._background:
                most = self._pace.batch_size(kind, most)
            while queue and len(self._running) < most and _kind(queue[0]) == kind:
                if self._running and (queue[0].work or self._running[0].work):
                    break
                self._running.append(queue.popleft())
            return list(self._running)

    def _run_batch(self, jobs: list[_Job]) -> None:
        """Run jobs; in the background, measure them and stop at the next step if a reader comes."""
        if not jobs[0].background:
            self._run_jobs(jobs, can_stop=False)
            return
        start = time.monotonic()
        can_stop = all(job.interruptions < MAX_INTERRUPTIONS for job in jobs)
        self._run_jobs(jobs, can_stop)
        self._pace.add(_kind(jobs[0]), len(jobs), time.monotonic() - start)

    def _put_back(self, jobs: list[_Job]) -> None:
        with self._changed:
            for job in reversed(jobs):
                job.interruptions += 1
                if not job.left:
                    self._background.appendleft(job)
            self._running = []

    def _run_jobs(self, jobs: list[_Job], can_stop: bool) -> None:
        def report(share: float, what: str) -> None:
            if can_stop and self._waiting:
                raise _Interrupted
            if all(job.left for job in jobs):
                raise _AllLeft
            for job in jobs:
                job.progress = (share, what)

        if jobs[0].work is not None:
            jobs[0].result = jobs[0].work(report)
            return
        traces = self._run([job.request for job in jobs], report)
        for job, trace in zip(jobs, traces, strict=True):
            job.result = trace

    def _run_singly(self, jobs: list[_Job], error: BaseException) -> None:
        if len(jobs) == 1:
            jobs[0].error = for_people(error)
            return
        for job in jobs:
            try:
                self._run_jobs([job], can_stop=False)
            except BaseException as own:
                job.error = for_people(own)


def for_people(error: BaseException) -> Exception:
    """An error whose message is a sentence for people."""
    if isinstance(error, InputError | BackendError | _AllLeft):
        return error
    log.error("While a model ran", exc_info=error)
    return BackendError(
        "The model stopped with an error, which was written to the app's log; try again."
    )


def _kind(job: _Job) -> Request:
    """What the requests of one batch share."""
    target = None if job.request.target is None else ""
    return replace(job.request, text="", picture=None, sound=None, clip=None, target=target)

"""The one owner of the device: a thread that takes requests from a short queue and runs like ones together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from areaviz.backend.base import Progress
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

Report = Callable[[float, str], None]
Run = Callable[[Sequence[Request], Report], list[Trace]]
"""Runs requests that share everything but their input and a given output; raises for the whole batch."""

POLL_SECONDS = 0.03


@dataclass(slots=True)
class _Job:
    request: Request
    finished: threading.Event = field(default_factory=threading.Event)
    progress: tuple[float, str] = (0.0, "Waiting for the model")
    trace: Trace | None = None
    error: Exception | None = None


class Worker:
    """Runs requests one batch at a time, in the order they came.

    max_waiting: how many requests may wait. max_batch: how many run together. A batch that fails is run
    again one by one, so that a request too large for the device fails alone.
    """

    def __init__(self, run: Run, max_waiting: int = 32, max_batch: int = 8) -> None:
        self._run, self._max_batch = run, max_batch
        self._jobs: queue.Queue[_Job] = queue.Queue(max_waiting)
        self._held: _Job | None = None
        threading.Thread(target=self._work, name="areaviz-worker", daemon=True).start()

    def waiting(self) -> int:
        """How many requests wait behind the one that runs."""
        return self._jobs.qsize()

    def submit(self, request: Request, progress: Progress | None = None) -> Trace:
        """Wait for the result, reporting progress from the calling thread; raises what the run raised."""
        job = _Job(request)
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            raise BackendError(
                f"The models are busy: {self._jobs.maxsize} requests are waiting already; try again in a moment."
            ) from None
        reported = None
        while not job.finished.wait(POLL_SECONDS):
            if progress and job.progress != reported:
                reported = job.progress
                progress(*reported)
        if job.error is not None:
            raise job.error
        assert job.trace is not None
        return job.trace

    def _work(self) -> None:
        while True:
            jobs = self._next_batch()
            try:
                self._answer(jobs)
            except Exception as error:  # one request's failure must not end the thread all others wait for
                self._answer_singly(jobs, error)
            for job in jobs:
                job.finished.set()

    def _next_batch(self) -> list[_Job]:
        """The first waiting job and those right behind it that can run with it."""
        jobs = [self._held or self._jobs.get()]
        self._held = None
        while len(jobs) < self._max_batch and not self._jobs.empty():
            job = self._jobs.get()
            if _kind(job.request) != _kind(jobs[0].request):
                self._held = job
                break
            jobs.append(job)
        return jobs

    def _answer(self, jobs: list[_Job]) -> None:
        def report(share: float, what: str) -> None:
            for job in jobs:
                job.progress = (share, what)

        traces = self._run([job.request for job in jobs], report)
        for job, trace in zip(jobs, traces, strict=True):
            job.trace = trace

    def _answer_singly(self, jobs: list[_Job], error: Exception) -> None:
        if len(jobs) == 1:
            jobs[0].error = error
            return
        for job in jobs:
            try:
                self._answer([job])
            except Exception as own:
                job.error = own


def _kind(request: Request) -> tuple[object, ...]:
    """What requests of one batch share."""
    finds = request.target is None
    return request.model, request.method, request.beam, request.area_size, request.seed, request.changes, finds

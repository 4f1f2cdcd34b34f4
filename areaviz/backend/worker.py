"""The thread that owns the device, its requests, and the queue in which users take turns.

A request and the queue come first. Read the section on the thread for the order in which work
is done.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.backend.costs import BackgroundBudget, Costs, RunClock
from areaviz.shares import QUESTIONS_WAITING, Visitor
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

# A request in the worker, and conversion of errors to messages for users.


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


# The queue of questions, in which users take turns regardless of the number of their questions.
#
# Network addresses take turns first, then the users of one address, so new cookies bring no extra
# turns. A user without a known address takes turns as if it were an address.


_Readers = OrderedDict[str, deque[Job]]


class TurnQueue:
    """A queue of waiting jobs. It has no lock of its own, because the worker holds one."""

    def __init__(self) -> None:
        # By address, then by user. The user or address served last is at the end.
        self._addresses: OrderedDict[str, _Readers] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, job: Job) -> bool:
        address, reader = _find_queue_place(job)
        readers = self._addresses.get(address)
        return readers is not None and job in readers.get(reader, ())

    def add(self, job: Job) -> None:
        """Add a job behind the other jobs of its user."""
        address, reader = _find_queue_place(job)
        readers = self._addresses.setdefault(address, OrderedDict())
        readers.setdefault(reader, deque()).append(job)
        self._count += 1

    def remove(self, job: Job) -> None:
        """Remove a job that is served or abandoned, and end its user's turn.

        Raises:
            ValueError: if the job is not in the queue.
        """
        address, reader = _find_queue_place(job)
        readers = self._addresses.get(address, OrderedDict())
        jobs = readers.get(reader, deque())
        jobs.remove(job)
        self._count -= 1
        if jobs:
            readers.move_to_end(reader)
        else:
            del readers[reader]
        if readers:
            self._addresses.move_to_end(address)
        else:
            del self._addresses[address]

    def in_order(self) -> Iterator[Job]:
        """Yield the jobs in the order in which they will be served if no other job arrives."""
        addresses = deque(
            deque(deque(jobs) for jobs in readers.values()) for readers in self._addresses.values()
        )
        while addresses:
            readers = addresses.popleft()
            jobs = readers.popleft()
            yield jobs.popleft()
            if jobs:
                readers.append(jobs)
            if readers:
                addresses.append(readers)

    def count_before(self, job: Job) -> int:
        """Return the number of jobs that will be served before this one."""
        for count, other in enumerate(self.in_order()):
            if other is job:
                return count
        return self._count


def _find_queue_place(job: Job) -> tuple[str, str]:
    """Return the address and the user under which a job is queued."""
    visitor = job.visitor
    if visitor is None:
        return "", ""
    return visitor.address or f"reader {visitor.reader}", visitor.reader


# The thread that owns the device. It runs questions of users in turn, then analyses.
#
# A question may take seconds. At each of its steps, it gives way to a short question of another
# user, which then runs on this thread. Analyses give way to every user at each step. No user
# therefore waits for more than one step of another user's long run, and no work is done twice.


T = TypeVar("T")

# Function that runs requests that differ only in their input and given output. It raises an error
# for the whole batch.
Run = Callable[[Sequence[Request], Progress], list[Trace]]

# Time after which a run gives way to other users.
LONG_SECONDS = 0.25

# Maximum predicted time of a batch of users' questions.
BATCH_SECONDS = 1.0

# Interval at which a caller checks its job, and the maximum and minimum interval of progress calls.
# Such a call ends the thread of a user who has left the page.
LOOK_SECONDS, PROGRESS_SECONDS, SOONEST_SECONDS = 0.05, 0.5, 0.2


class Worker:
    """A thread that runs requests in batches: those of users in turn, then those of analyses.

    If a batch fails, its requests run again one at a time, so that a request that is too large for
    the device fails alone. If the thread ends, the callers of its requests get an error that says
    so, and the next request runs in a new thread.

    Args:
        run: runs a batch.
        costs: predicts the time of requests, and learns from completed runs.
        max_waiting: largest number of waiting questions, and of waiting requests of analyses. None
            for the limit of the table of shares.
        max_batch: largest number of requests that run together.
        can_pause: returns whether a running request can give way at its steps.
    """

    def __init__(
        self,
        run: Run,
        costs: Costs | None = None,
        max_waiting: int | None = None,
        max_batch: int = 8,
        can_pause: Callable[[Request], bool] = lambda request: True,
    ) -> None:
        self._run, self._costs, self._can_pause = run, costs or Costs({}), can_pause
        self._max_waiting = max_waiting or int(QUESTIONS_WAITING.value())
        self._max_batch = max_batch
        self._pace = BackgroundBudget()
        self._changed = threading.Condition()
        self._waiting, self._background = TurnQueue(), TurnQueue()
        # The running jobs, including jobs that gave way.
        self._running: list[Job] = []
        self._thread = self._start()

    def waiting(self) -> int:
        """Return the number of waiting requests."""
        with self._changed:
            return len(self._waiting) + len(self._background)

    def submit(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Wait for the trace of a request, and call `progress` in the calling thread.

        An error raised by `progress` ends the waiting and is raised again. The request is then
        dropped.

        Raises:
            Busy: if too many requests are waiting.
            InputError, BackendError: as the run raises. Any other error becomes a BackendError.
        """
        job = Job(request, caller, self._costs.predict(request))
        trace: Trace = self._answer(job, progress)
        return trace

    def alone(
        self,
        request: Request,
        work: Callable[[Progress], T],
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> T:
        """Run work for a request in the worker's thread, in a batch of its own.

        Args:
            request: the request.
            work: called with a function that reports its progress.
            progress: as in `submit`.
            caller: as in `submit`.

        Returns:
            The result of `work`.
        """
        result: T = self._answer(Job(request, caller, self._costs.predict(request), work), progress)
        return result

    def _answer(self, job: Job, progress: Progress | None) -> Any:
        self._enqueue(job)
        try:
            self._wait(job, progress)
        except BaseException:
            self._leave(job)
            raise
        if job.error is not None:
            raise job.error
        return job.result

    def _enqueue(self, job: Job) -> None:
        with self._changed:
            if not job.caller.in_background:
                self._pace.reader_came()
            queue = self._queue(job)
            if len(queue) >= self._max_waiting:
                raise BackendBusy(
                    f"The models are busy: {self._max_waiting:,} requests are waiting. Try again in"
                    " a moment."
                )
            queue.add(job)
            self._changed.notify()

    def _queue(self, job: Job) -> TurnQueue:
        return self._background if job.caller.in_background else self._waiting

    def _wait(self, job: Job, progress: Progress | None) -> None:
        reported, when = (-1.0, ""), float("-inf")
        while not job.finished.wait(LOOK_SECONDS):
            self._revive()
            now = time.monotonic()
            if progress is None or now - when < SOONEST_SECONDS:
                continue
            state = self._state(job)
            if state != reported or now - when >= PROGRESS_SECONDS:
                reported, when = state, now
                progress(*state)

    def _state(self, job: Job) -> tuple[float, str]:
        """Return the progress of a job, or the number of requests before it."""
        with self._changed:
            queue = self._queue(job)
            if job not in queue:
                return job.progress
            before = queue.count_before(job) + len(self._running)
            if job.caller.in_background:
                before += len(self._waiting)
        if not before:
            return job.progress
        count = f"{before} requests are" if before > 1 else "1 request is"
        return 0.0, f"Waiting for the model: {count} before yours; it starts by itself"

    def _leave(self, job: Job) -> None:
        with self._changed:
            job.has_left = True
            if job in self._queue(job):
                self._queue(job).remove(job)

    def _revive(self) -> None:
        """Start a new thread if the old one has ended, which only an external cause can do."""
        with self._changed:
            if self._thread.is_alive():
                return
            log.error("The thread of the models had ended. A new one was started.")
            for job in self._running:
                job.error = job.error or BackendError(
                    "The model was stopped while it ran. Try again."
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
            with self._changed:
                while not (jobs := self._next_batch(self._waiting) or self._next_of_analyses()):
                    self._changed.wait()
            self._serve(jobs)

    def _next_batch(self, queue: TurnQueue, most: int = 0, seconds: float = 1e9) -> list[Job]:
        """Remove the first job in turn that can run now, and later jobs that can run with it.

        Args:
            queue: the queue of jobs. The lock must be held.
            most: largest number of jobs, 0 for the default.
            seconds: longest predicted time of the first job.
        """
        # At most one question of each user runs at a time.
        served = {job.visitor for job in self._running if job.visitor is not None}
        found: list[Job] = []
        total = 0.0
        for job in queue.in_order():
            if job.visitor in served or (not found and job.seconds > seconds):
                continue
            total += job.seconds
            is_too_much = total > BATCH_SECONDS or len(found) == (most or self._max_batch)
            if found and (is_too_much or not job.can_join(found[0])):
                break
            if job.visitor is not None:
                served.add(job.visitor)
            found.append(job)
        for job in found:
            queue.remove(job)
        self._running += found
        return found

    def _next_of_analyses(self) -> list[Job]:
        first = next(self._background.in_order(), None)
        if first is None:
            return []
        return self._next_batch(
            self._background, self._pace.batch_size(first.kind, self._max_batch)
        )

    def _serve(self, jobs: list[Job]) -> None:
        """Run jobs to their end, even if they fail, and wake their callers."""
        try:
            self._run_jobs(jobs)
        # No failure may end the thread, because all other requests wait for it.
        except BaseException as error:
            self._run_singly(jobs, error)
        with self._changed:
            self._running = [job for job in self._running if job not in jobs]
        for job in jobs:
            job.finished.set()

    def _run_jobs(self, jobs: list[Job]) -> None:
        clock = RunClock()

        def report(share: float, what: str) -> None:
            if all(job.has_left for job in jobs):
                raise AllLeft
            for job in jobs:
                job.progress = (share, what)
            if share > 0:
                clock.start()
                clock.paused += self._give_way(jobs, clock)
                if clock.is_check_due():
                    self._costs.check_running(jobs, clock.seconds())

        first = jobs[0]
        if first.work is not None:
            first.result = first.work(report)
            return
        traces = self._run([job.request for job in jobs], report)
        for job, trace in zip(jobs, traces, strict=True):
            job.result = trace
        if first.caller.in_background:
            self._pace.add(first.kind, len(jobs), clock.seconds())
        elif len(jobs) == 1 and clock.started is not None:
            self._costs.learn(first.request, clock.seconds())

    def _give_way(self, jobs: list[Job], clock: RunClock) -> float:
        """Run requests with priority over the rest of a run. Return their processor time.

        An analysis gives way to all questions. A long question lets one batch of other users'
        questions through at each of its steps, so it ends even if new questions never stop. A
        question that is let through has at most half the predicted time of the long one, so few
        runs are unfinished at any time.
        """
        if not self._waiting or not self._can_pause(jobs[0].request):
            return 0.0
        in_background = jobs[0].caller.in_background
        if not in_background and clock.seconds() < LONG_SECONDS:
            return 0.0
        started = time.thread_time()
        longest = 1e9 if in_background else max(job.seconds for job in jobs) / 2
        while True:
            with self._changed:
                batch = self._next_batch(self._waiting, seconds=longest)
            if batch:
                self._serve(batch)
            if not batch or not in_background:
                return time.thread_time() - started

    def _run_singly(self, jobs: list[Job], error: BaseException) -> None:
        if len(jobs) == 1:
            jobs[0].error = convert_to_sentence(error)
            return
        for job in jobs:
            try:
                self._run_jobs([job])
            except BaseException as own:
                job.error = convert_to_sentence(own)

"""Analyses that run in threads of their own while users visit pages.

Users who start the same analysis share one job. A job belongs to the user who started it, who can
stop it. Each user may run only a few jobs. Jobs that a page is showing get their turns first, and
the other jobs continue in the background.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count

from areaviz.analysis.run import IN_FLIGHT, AnalysisStopped
from areaviz.shares.limits import ANALYSES_AT_ONCE, ANALYSES_RUNNING, Scope
from areaviz.shares.visitors import OverLimit, get_limit_of_scope
from areaviz.trace.errors import BackendError, InputError

log = logging.getLogger(__name__)

# Seconds for which a job counts as watched after a page has shown it.
WATCHED_SECONDS = 10.0
# Seconds between checks of whether a waiting analysis was stopped.
LOOK_SECONDS = 0.5


class FairScheduler:
    """The turns of all analyses of this process, which decide who runs the next example.

    All analyses together have few requests in flight. A model server cannot tell them apart, so
    they must not fill its queue.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._changed = threading.Condition()
        # Waiting analyses in order of arrival, as functions that return whether they are watched.
        self._waiting: list[Callable[[], bool]] = []

    @contextmanager
    def turn(self, watched: Callable[[], bool], stop: threading.Event) -> Iterator[None]:
        """Hold one of the turns for the duration of the block.

        Args:
            watched: returns whether a page shows the analysis. It is called whenever a turn is
                free.
            stop: set when the analysis has to end.

        Raises:
            Stopped: `stop` was set before a turn was free.
        """
        self._take(watched, stop)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _take(self, watched: Callable[[], bool], stop: threading.Event) -> None:
        with self._changed:
            self._waiting.append(watched)
            try:
                while not stop.is_set():
                    # Watched analyses sort first. Among equal ones, `min` returns the one that
                    # arrived first.
                    first = min(self._waiting, key=lambda is_watched: not is_watched())
                    if self._free and first is watched:
                        self._free -= 1
                        return
                    self._changed.wait(LOOK_SECONDS)
                raise AnalysisStopped
            finally:
                self._waiting.remove(watched)
                self._changed.notify_all()


class Job:
    """A piece of work in its own thread, whose attributes pages read while it runs.

    Attributes:
        number: identifies the job for the operator.
        owner: the id of the user who started it.
        title: describes the job for display.
        address: the network address of that user. "" if limits by address do not apply.
        done: the number of examples that have a row.
        total: the number of examples, 0 until it is known.
        problem: one sentence that says why the job failed. "" if it finished or its owner stopped
            it.
    """

    def __init__(self, work: Work, number: int, owner: str, title: str, address: str = "") -> None:
        self.number, self.owner, self.title, self.address = number, owner, title, address
        self.done, self.total, self.problem = 0, 0, ""
        self.begun = datetime.now(UTC)
        self.stopping = threading.Event()
        self._seen = time.monotonic()
        self._thread = threading.Thread(
            target=self._run,
            args=(work,),
            name="areaviz-job",
            daemon=True,
        )
        self._thread.start()

    @property
    def running(self) -> bool:
        """True if the thread is still alive."""
        return self._thread.is_alive()

    @property
    def watched(self) -> bool:
        """True if a page has shown the job within the last `WATCHED_SECONDS`."""
        return time.monotonic() - self._seen < WATCHED_SECONDS

    @property
    def entry(self) -> dict[str, object]:
        """The job as JSON values for the operator, without its owner."""
        return {
            "number": self.number,
            "title": self.title,
            "done": self.done,
            "of": self.total,
            "begun": self.begun.isoformat(timespec="seconds"),
            "watched": self.watched,
        }

    def watch(self) -> None:
        """Record that a page shows the job now."""
        self._seen = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """Set the progress. The work calls this method."""
        self.done, self.total = done, total

    def stop(self, reason: str = "") -> None:
        """Ask the job to end. Finished rows are kept."""
        self.problem = reason
        self.stopping.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the job, at most `seconds`."""
        self._thread.join(seconds)

    def _run(self, work: Work) -> None:
        try:
            work(self)
        except (InputError, BackendError) as error:
            self.problem = str(error)
        except Exception:
            log.exception("While a job ran")
            self.problem = (
                "Something went wrong, and the app's log has the reason. The results so far"
                " are kept. Run it again."
            )


# Function that does the work and reports its progress to the job. It ends early once `job.stopping`
# is set.
Work = Callable[[Job], object]


class Jobs:
    """The jobs of this process, by a key that identifies the work.

    Attributes:
        turns: shared by all jobs, so that together they have no more requests in flight than a
            single job.
    """

    def __init__(self) -> None:
        self.turns = FairScheduler(IN_FLIGHT)
        # The latest job of a key is kept while it has a problem, so that pages can show the
        # problem.
        self._jobs: dict[str, Job] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def get(self, key: str) -> Job | None:
        """Return the running or latest job of a key, or None if there is none."""
        with self._lock:
            return self._jobs.get(key)

    def running(self, owner: str | None = None) -> list[Job]:
        """Return the running jobs of one user, or of all users, the oldest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job for job in jobs if job.running and owner in (None, job.owner)]

    def start(self, key: str, work: Work, owner: str, title: str, address: str = "") -> Job:
        """Start a job, or return the job of this key if it is already running.

        Args:
            key: identifies the work.
            work: the function to run.
            owner: the id of the user who starts the job.
            title: describes the job for display.
            address: the user's network address. "" if limits by address do not apply.

        Raises:
            OverLimit: the user, the address or the app has too many running jobs.
        """
        with self._lock:
            last = self._jobs.get(key)
            if last and last.running:
                return last
            self._check_room(owner, address)
            self._jobs = {
                name: job
                for name, job in self._jobs.items()
                if name != key and (job.running or job.problem)
            }
            job = self._jobs[key] = Job(work, next(self._numbers), owner, title, address)
            return job

    def stop(self, number: int) -> Job:
        """Stop a job for the operator.

        Raises:
            InputError: no job with this number is running.
        """
        running = {job.number: job for job in self.running()}
        if number not in running:
            numbers = ", ".join(map(str, running)) or "none"
            raise InputError(f"No analysis {number} is running. Running analyses: {numbers}.")
        running[number].stop(
            "The operator stopped this analysis. The results so far are kept, and you can"
            " continue it later."
        )
        return running[number]

    def _check_room(self, owner: str, address: str) -> None:
        """Raise OverLimit if the user, the address or the app may not start another job."""
        running = [job for job in self._jobs.values() if job.running]
        if sum(job.owner == owner for job in running) >= ANALYSES_AT_ONCE.value():
            raise OverLimit(ANALYSES_AT_ONCE, Scope.READER)
        of_address = sum(job.address == address for job in running)
        if address and of_address >= get_limit_of_scope(ANALYSES_AT_ONCE, Scope.ADDRESS):
            raise OverLimit(ANALYSES_AT_ONCE, Scope.ADDRESS)
        if len(running) >= ANALYSES_RUNNING.value():
            raise OverLimit(ANALYSES_RUNNING, Scope.APP)

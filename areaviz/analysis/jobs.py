"""Analyses that go on while pages are used: a thread a job, shared by all who ask for the same.

Each job belongs to the reader who began it, who may stop it and may run few at a time. Jobs that
nobody watches go on, but those that somebody watches get their turns first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count

from areaviz.analysis.run import IN_FLIGHT, Stopped
from areaviz.shares.limits import ANALYSES_AT_ONCE, ANALYSES_RUNNING, Scope
from areaviz.shares.visitors import OverLimit, most_of
from areaviz.trace.errors import BackendError, InputError

log = logging.getLogger(__name__)

# A job counts as watched for so long after a page looked at it.
WATCHED_SECONDS = 10.0
# How often one who waits for a turn looks whether the analysis was stopped.
LOOK_SECONDS = 0.5


class Turns:
    """Decides which of several analyses runs an example next, for all analyses of a process.

    Together they have few requests on their way, so that they fill no queue at a server of models,
    which cannot tell them apart.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._changed = threading.Condition()
        # Whoever waits, in the order they came, as the functions that say whether they are watched.
        self._waiting: list[Callable[[], bool]] = []

    @contextmanager
    def turn(self, watched: Callable[[], bool], stop: threading.Event) -> Iterator[None]:
        """Hold one of `count` turns in the block.

        Args:
            watched: whether somebody looks at the analysis, asked whenever a turn is free.
            stop: set where the analysis is to end.

        Raises:
            Stopped: `stop` was set before the turn came.
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
                    # Those that are watched sort first; of equals, `min` gives the earliest.
                    first = min(self._waiting, key=lambda is_watched: not is_watched())
                    if self._free and first is watched:
                        self._free -= 1
                        return
                    self._changed.wait(LOOK_SECONDS)
                raise Stopped
            finally:
                self._waiting.remove(watched)
                self._changed.notify_all()


class Job:
    """One piece of work in its own thread; pages read its attributes while it runs.

    Attributes:
        number: what the operator calls it.
        owner: the id of the reader who began it.
        title: what it does, for people.
        address: the network address of that reader; "" where it has no share.
        done: how many examples have a row.
        total: how many examples there are, 0 until that is known.
        problem: why it ended, one sentence; "" where it ended by itself or by its owner.
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
        """Whether it goes on."""
        return self._thread.is_alive()

    @property
    def watched(self) -> bool:
        """Whether a page looked at it a short while ago."""
        return time.monotonic() - self._seen < WATCHED_SECONDS

    @property
    def entry(self) -> dict[str, object]:
        """What the operator sees of it, as JSON can hold it; not whose it is."""
        return {
            "number": self.number,
            "title": self.title,
            "done": self.done,
            "of": self.total,
            "begun": self.begun.isoformat(timespec="seconds"),
            "watched": self.watched,
        }

    def watch(self) -> None:
        """Note that somebody looks at it now."""
        self._seen = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """Set how far it is; called by the work."""
        self.done, self.total = done, total

    def stop(self, reason: str = "") -> None:
        """Ask it to end; what is done is kept."""
        self.problem = reason
        self.stopping.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def _run(self, work: Work) -> None:
        try:
            work(self)
        except (InputError, BackendError) as error:
            self.problem = str(error)
        except Exception:
            log.exception("While a job ran")
            self.problem = (
                "Something went wrong; it was written to the app's log. What was done is kept: run"
                " it again."
            )


# Does the work, reports how far it is to the job, and ends early once the job is `stopping`.
Work = Callable[[Job], object]


class Jobs:
    """The jobs of this process, by a key that says what they do.

    Attributes:
        turns: shared by all jobs, so that together they have no more requests on their way than one
            alone.
    """

    def __init__(self) -> None:
        self.turns = Turns(IN_FLIGHT)
        # The last job of a key stays while it has a problem, so that pages can show it.
        self._jobs: dict[str, Job] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def get(self, key: str) -> Job | None:
        """The job of a key that runs or ran last."""
        with self._lock:
            return self._jobs.get(key)

    def running(self, owner: str | None = None) -> list[Job]:
        """The jobs that go on, of one reader or of all, the oldest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job for job in jobs if job.running and owner in (None, job.owner)]

    def start(self, key: str, work: Work, owner: str, title: str, address: str = "") -> Job:
        """Begin a job, unless the job of this key is running.

        Args:
            key: says what the job does.
            work: the job's work.
            owner: the id of the reader who begins it.
            title: says for people what the job does.
            address: the reader's network address; "" where it has no share.

        Raises:
            OverLimit: the reader, the address or the app has too many jobs running.
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
        """Stop a job for the operator; raises InputError where none of this number runs."""
        running = {job.number: job for job in self.running()}
        if number not in running:
            numbers = ", ".join(map(str, running)) or "none"
            raise InputError(f"No analysis {number} is running; running are: {numbers}.")
        running[number].stop(
            "The operator stopped this analysis; what was done is kept, and it can go on later."
        )
        return running[number]

    def _check_room(self, owner: str, address: str) -> None:
        """Raise OverLimit if the reader, the address or the app may begin no further job."""
        running = [job for job in self._jobs.values() if job.running]
        if sum(job.owner == owner for job in running) >= ANALYSES_AT_ONCE.value():
            raise OverLimit(ANALYSES_AT_ONCE, Scope.READER)
        of_address = sum(job.address == address for job in running)
        if address and of_address >= most_of(ANALYSES_AT_ONCE, Scope.ADDRESS):
            raise OverLimit(ANALYSES_AT_ONCE, Scope.ADDRESS)
        if len(running) >= ANALYSES_RUNNING.value():
            raise OverLimit(ANALYSES_RUNNING, Scope.APP)

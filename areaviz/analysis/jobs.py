"""Analyses that go on while pages are used: a thread a job, shared by all who ask for the same.

Each has the reader who began it, who may stop it and has few at a time. One that nobody watches
goes on, but those that are watched get their turns first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count

from areaviz.analysis.run import TOGETHER
from areaviz.analysis.turns import Turns
from areaviz.trace.errors import BackendError, InputError

log = logging.getLogger(__name__)

MOST = 8
"""Jobs at once in one process."""
MOST_OF_A_READER = 2
WATCHED_SECONDS = 10.0
"""A job is watched for so long after a page looked at it."""


class Job:
    """One piece of work; read by pages while it runs.

    number: what the operator calls it. owner: the id of the reader who began it. title: what it
    does, for people.
    done, most: how far it is. problem: why it ended, one sentence, "" where it ended by itself or
    by its owner.
    """

    def __init__(self, work: Work, number: int, owner: str, title: str) -> None:
        self.number, self.owner, self.title = number, owner, title
        self.done, self.most, self.problem = 0, 0, ""
        self.begun = datetime.now(UTC)
        self.stopping = threading.Event()
        self._seen = time.monotonic()
        self._thread = threading.Thread(
            target=self._run, args=(work,), name="areaviz-job", daemon=True
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
        """What the operator is told of it, as JSON can hold it; not whose it is."""
        begun = self.begun.isoformat(timespec="seconds")
        far = {"done": self.done, "of": self.most}
        return {
            "number": self.number,
            "title": self.title,
            **far,
            "begun": begun,
            "watched": self.watched,
        }

    def look(self) -> None:
        """Somebody looks at it now."""
        self._seen = time.monotonic()

    def tell(self, done: int, most: int) -> None:
        """How far it is; called by the work."""
        self.done, self.most = done, most

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


Work = Callable[[Job], object]
"""Does the work, tells the job how far it is, and ends early once the job is `stopping`."""


class Jobs:
    """The jobs of this process, by what they do; the last of a key is kept, so that its end can be
    read.

    turns: shared by all of them, so that together they have no more requests on their way than one
    alone.
    """

    def __init__(self) -> None:
        self.turns = Turns(TOGETHER)
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
        found = [job for job in jobs if job.running and owner in (None, job.owner)]
        return sorted(found, key=lambda job: job.number)

    def start(self, key: str, work: Work, owner: str, title: str) -> Job:
        """Begin a job, unless that of this key is running; raises BackendError where
        too many are.
        """
        with self._lock:
            there = self._jobs.get(key)
            if there and there.running:
                return there
            self._jobs = {
                name: job for name, job in self._jobs.items() if job.running or job.problem
            }
            self._check_room(owner)
            self._jobs[key] = Job(work, next(self._numbers), owner, title)
            return self._jobs[key]

    def stop(self, number: int) -> Job:
        """Stop a job for the operator; InputError where none of this number runs."""
        found = [job for job in self.running() if job.number == number]
        if not found:
            running = ", ".join(str(job.number) for job in self.running()) or "none"
            raise InputError(f"No analysis {number} is running; running are: {running}.")
        found[0].stop(
            "The operator stopped this analysis; what was done is kept, and it can go on later."
        )
        return found[0]

    def _check_room(self, owner: str) -> None:
        running = [job for job in self._jobs.values() if job.running]
        if sum(job.owner == owner for job in running) >= MOST_OF_A_READER:
            raise BackendError(
                f"You have {MOST_OF_A_READER} analyses running already; wait for one of them, or"
                " stop it."
            )
        if len(running) >= MOST:
            raise BackendError(f"{MOST} analyses are running already; wait for one of them to end.")

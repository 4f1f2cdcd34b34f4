"""Work that goes on while the page is used: a thread a job, shared by all who ask for the same."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import streamlit as st

from areaviz.trace.errors import BackendError, InputError

log = logging.getLogger(__name__)
Progress = Callable[[int, int], None]
Work = Callable[[Progress, threading.Event], object]
"""Does the work, tells how far it is, and ends early once the event is set."""

MOST = 8
"""Jobs at once in one process."""


class Job:
    """One piece of work; read by pages while it runs."""

    def __init__(self, work: Work) -> None:
        self.done, self.most, self.problem = 0, 0, ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), name="areaviz-job", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ask it to end; what is done is kept."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for its end, at most so long."""
        self._thread.join(seconds)

    def _run(self, work: Work) -> None:
        try:
            work(self._tell, self._stop)
        except (InputError, BackendError) as error:
            self.problem = str(error)
        except Exception:
            log.exception("While a job ran")
            self.problem = "Something went wrong; it was written to the app's log. What was done is kept: run it again."

    def _tell(self, done: int, most: int) -> None:
        self.done, self.most = done, most


class Jobs:
    """The jobs of this process, by what they do; the last of a key is kept, so that its end can be read."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> Job | None:
        """The job of a key that runs or ran last."""
        with self._lock:
            return self._jobs.get(key)

    def running(self) -> list[Job]:
        """The jobs that go on."""
        with self._lock:
            return [job for job in self._jobs.values() if job.running]

    def start(self, key: str, work: Work) -> Job:
        """Begin a job, unless that of this key is running; raises BackendError where too many are."""
        with self._lock:
            there = self._jobs.get(key)
            if there and there.running:
                return there
            self._jobs = {name: job for name, job in self._jobs.items() if job.running or job.problem}
            if sum(job.running for job in self._jobs.values()) >= MOST:
                raise BackendError(f"{MOST} analyses are running already; wait for one of them, or stop it.")
            self._jobs[key] = Job(work)
            return self._jobs[key]


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> Jobs:
    """The jobs of this process."""
    return Jobs()

"""How long runs take, and how many requests of analyses run together while readers wait."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from areaviz.trace.request import Request

# The longest time of a batch of analyses while readers are active.
SLICE_SECONDS = 0.15

# A reader is active for this long after a request.
ACTIVE_SECONDS = 10.0

# How many kinds of requests have their time remembered.
KINDS = 32

# How often a run looks at how long it has taken.
CHECK_SECONDS = 0.05

# The share of the newest batch in the average time of a request; the older batches have the rest.
NEWEST = 0.5


@dataclass(slots=True)
class RunClock:
    """Counts the processor time of one run, without the runs that it gives way to.

    It starts with the first step, because a model may be loaded before.

    Attributes:
        started: when it started, None before that.
        paused: the seconds of the runs that it gave way to.
    """

    started: float | None = None
    paused: float = 0.0
    _checked: float = float("-inf")

    def start(self) -> None:
        """Start the clock, unless it runs."""
        if self.started is None:
            self.started = time.thread_time()

    def is_check_due(self) -> bool:
        """Return whether the time of the run should be looked at, at most every `CHECK_SECONDS`.

        The processor time of a thread is slow to read, and a run has hundreds of steps.
        """
        now = time.monotonic()
        if now - self._checked < CHECK_SECONDS:
            return False
        self._checked = now
        return True

    def seconds(self) -> float:
        """Return the seconds of this thread's processor since the start, without the pauses."""
        return 0.0 if self.started is None else time.thread_time() - self.started - self.paused


class Pace:
    """Measures how long requests of a kind take in a batch, and how many fit into a slice.

    One thread uses it, except for `reader_came`.

    Args:
        clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reader_came = float("-inf")
        self._seconds: OrderedDict[Request, float] = OrderedDict()

    def reader_came(self) -> None:
        """Note a request that a reader waits for."""
        self._reader_came = self._clock()

    @property
    def readers_active(self) -> bool:
        """Whether a reader sent a request a short while ago, and is likely to send another."""
        return self._clock() - self._reader_came < ACTIVE_SECONDS

    def batch_size(self, kind: Request, max_batch: int) -> int:
        """Return how many requests of a kind may run together now; 1 if their time is unknown."""
        if not self.readers_active:
            return max_batch
        seconds = self._seconds.get(kind, SLICE_SECONDS)
        return max(1, min(max_batch, int(SLICE_SECONDS / max(seconds, 1e-6))))

    def add(self, kind: Request, count: int, seconds: float) -> None:
        """Note how long a batch of requests of a kind took."""
        new = seconds / count
        old = self._seconds.pop(kind, new)
        self._seconds[kind] = NEWEST * new + (1 - NEWEST) * old
        while len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)

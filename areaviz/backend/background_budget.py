"""Measurement of run times, and choice of the batch size of analyses while users are active."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from areaviz.trace.request import Request

# Maximum time of an analysis batch while users are active.
SLICE_SECONDS = 0.15

# Time after a request for which a user counts as active.
ACTIVE_SECONDS = 10.0

# Number of kinds of requests whose times are kept.
KINDS = 32

# Interval at which a run checks its time.
CHECK_SECONDS = 0.05

# Weight of the newest batch in the average time of a request.
NEWEST_WEIGHT = 0.5


@dataclass(slots=True)
class RunClock:
    """The processor time of one run, without the time of other runs during its pauses.

    It starts with the first step, because loading the model before that step does not count.

    Attributes:
        started: start time, None before the start.
        paused: seconds of the runs during its pauses.
    """

    started: float | None = None
    paused: float = 0.0
    _checked: float = float("-inf")

    def start(self) -> None:
        """Start the clock if it is not running."""
        if self.started is None:
            self.started = time.thread_time()

    def is_check_due(self) -> bool:
        """Return whether the time of the run is due for a check, at most every `CHECK_SECONDS`.

        Reading the processor time of a thread is slow, and a run has hundreds of steps.
        """
        now = time.monotonic()
        if now - self._checked < CHECK_SECONDS:
            return False
        self._checked = now
        return True

    def seconds(self) -> float:
        """Return the processor seconds of this thread since the start, without the pauses."""
        return 0.0 if self.started is None else time.thread_time() - self.started - self.paused


class BackgroundBudget:
    """The batch times of each kind of request, and the batch size that follows from them.

    One thread uses it, except for `reader_came`.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reader_came = float("-inf")
        self._seconds: OrderedDict[Request, float] = OrderedDict()

    def reader_came(self) -> None:
        """Note that a user sent a request."""
        self._reader_came = self._clock()

    @property
    def readers_active(self) -> bool:
        """True if a user sent a request recently and is likely to send another one."""
        return self._clock() - self._reader_came < ACTIVE_SECONDS

    def batch_size(self, kind: Request, max_batch: int) -> int:
        """Return how many requests of a kind may run together, or 1 if their time is unknown."""
        if not self.readers_active:
            return max_batch
        seconds = self._seconds.get(kind, SLICE_SECONDS)
        return max(1, min(max_batch, int(SLICE_SECONDS / max(seconds, 1e-6))))

    def add(self, kind: Request, count: int, seconds: float) -> None:
        """Record the time of a batch of requests of a kind."""
        new = seconds / count
        old = self._seconds.pop(kind, new)
        self._seconds[kind] = NEWEST_WEIGHT * new + (1 - NEWEST_WEIGHT) * old
        while len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)

"""How many requests of analyses run together: few while readers are active and wait."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from areaviz.trace.request import Request

# How long a batch of analyses may take while readers are active.
SLICE_SECONDS = 0.15

# A reader is active for this long after a request.
ACTIVE_SECONDS = 10.0

# How many kinds of requests have their time remembered.
KINDS = 32

# The share of the newest batch in the average time of a request; the older ones have the rest.
NEWEST = 0.5


class Pace:
    """Measures what a request of a kind takes in a batch, and says how many fit into a slice.

    One thread uses it, except for `reader_came`.

    Args:
        clock: seconds that only rise.
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
        """How many requests of a kind may run together now; 1 where their time is not known yet."""
        if not self.readers_active:
            return max_batch
        seconds = self._seconds.get(kind, SLICE_SECONDS)
        return max(1, min(max_batch, int(SLICE_SECONDS / max(seconds, 1e-6))))

    def add(self, kind: Request, count: int, seconds: float) -> None:
        """Note how long a batch took."""
        new = seconds / count
        old = self._seconds.pop(kind, new)
        self._seconds[kind] = NEWEST * new + (1 - NEWEST) * old
        while len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)

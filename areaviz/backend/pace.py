"""How many requests of analyses run together: few while readers are about, so that none of them
waits long.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from areaviz.trace.request import Request

SLICE_SECONDS = 0.15
"""A batch of analyses takes about so long while readers are about."""
ABOUT_SECONDS = 10.0
"""A reader is about for so long after a request."""
KINDS = 32
"""Kinds of requests whose time is remembered."""
NEWEST = 0.5
"""How much the newest batch counts in the time of an item, against all before."""


class Pace:
    """Measures what a request of a kind takes in a batch, and says how many fit into a slice.

    Used by one thread, but for `reader_came`. clock: seconds that only rise.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reader_came = float("-inf")
        self._seconds: OrderedDict[Request, float] = OrderedDict()

    def reader_came(self) -> None:
        """Somebody asked for something that they wait for."""
        self._reader_came = self._clock()

    @property
    def readers_about(self) -> bool:
        """Whether somebody asked a short while ago, and is likely to ask again."""
        return self._clock() - self._reader_came < ABOUT_SECONDS

    def most(self, kind: Request, max_batch: int) -> int:
        """How many requests of a kind may run together now: 1 where their time is not known yet."""
        if not self.readers_about:
            return max_batch
        seconds = self._seconds.get(kind, SLICE_SECONDS)
        return max(1, min(max_batch, int(SLICE_SECONDS / max(seconds, 1e-6))))

    def took(self, kind: Request, count: int, seconds: float) -> None:
        """Note how long a batch took."""
        new = seconds / count
        old = self._seconds.pop(kind, new)
        self._seconds[kind] = NEWEST * new + (1 - NEWEST) * old
        while len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)

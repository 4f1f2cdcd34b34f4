"""Who of several analyses runs an example next: those that somebody watches first, each in the
order it came.

All analyses of a process share one `Turns`, so that together they have few requests on their way,
and fill no queue at a server of models, which cannot tell them apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LOOK_SECONDS = 0.5
"""How often one who waits for a turn looks whether it was stopped."""


class Stopped(Exception):
    """The analysis was stopped before its turn came; the example was not run."""


@dataclass(slots=True, eq=False)
class _Waiter:
    watched: Callable[[], bool]
    granted: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Hands out `most` turns at a time."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._waiting: list[_Waiter] = []

    @contextmanager
    def turn(self, watched: Callable[[], bool], stop: threading.Event) -> Iterator[None]:
        """Hold one turn in the block.

        Args:
            watched: whether somebody looks at the analysis, asked whenever a turn is free.
            stop: set where the analysis is to end.

        Raises:
            Stopped: `stop` was set before the turn came.
        """
        self._wait(_Waiter(watched), stop)
        try:
            yield
        finally:
            with self._lock:
                self._free += 1
                self._grant()

    def _wait(self, waiter: _Waiter, stop: threading.Event) -> None:
        if stop.is_set():
            raise Stopped
        with self._lock:
            self._waiting.append(waiter)
            self._grant()
        while not waiter.granted.wait(LOOK_SECONDS):
            if stop.is_set() and self._left(waiter):
                raise Stopped

    def _left(self, waiter: _Waiter) -> bool:
        """Leave the line; False where the turn came just now."""
        with self._lock:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                return True
        return False

    def _grant(self) -> None:
        """Give what is free to the first of those that are watched, else to the first of all; holds
        the lock.
        """
        while self._free and self._waiting:
            first = min(self._waiting, key=lambda waiter: not waiter.watched())
            self._waiting.remove(first)
            self._free -= 1
            first.granted.set()

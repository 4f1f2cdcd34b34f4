"""Counters that enforce the table of shares. All of them are safe for several threads.

`Shares` counts what visitors use at the moment, such as running questions. `Rates` counts what they
use over time, such as messages per second.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from areaviz.shares.limits import Limit, Scope
from areaviz.shares.visitors import OverLimit, Visitor, get_limit_of_scope

_Account = tuple[Scope, str]


class Shares:
    """Amounts of one limited resource that visitors hold, counted for each reader and each address.

    Args:
        limit: a row of the table whose scope is the reader.
    """

    def __init__(self, limit: Limit) -> None:
        assert limit.scope is Scope.READER, limit.name
        self.limit = limit
        self._held: defaultdict[_Account, float] = defaultdict(float)
        self._lock = threading.Lock()

    def take(self, visitor: Visitor, amount: float = 1) -> None:
        """Add an amount to what a visitor holds. Every call needs a call of `release`.

        Raises:
            OverLimit: the reader or the address would hold more than its share. Nothing is added.
        """
        if full := self.try_take(visitor, amount):
            raise OverLimit(self.limit, full)

    def try_take(self, visitor: Visitor, amount: float = 1) -> Scope | None:
        """Add an amount as `take` does, but return the scope of a full share, or None."""
        with self._lock:
            for account in visitor.accounts():
                if self._held[account] + amount > get_limit_of_scope(self.limit, account[0]):
                    return account[0]
            for account in visitor.accounts():
                self._held[account] += amount
        return None

    def release(self, visitor: Visitor, amount: float = 1) -> None:
        """Subtract an amount that the visitor took."""
        with self._lock:
            for account in visitor.accounts():
                left = self._held[account] - amount
                # Sums of fractions may miss 0 by a rounding error.
                if left > 1e-9:
                    self._held[account] = left
                else:
                    del self._held[account]

    @contextmanager
    def holding(self, visitor: Visitor, amount: float = 1) -> Iterator[None]:
        """Hold an amount while the block runs.

        Raises:
            OverLimit: the reader or the address would hold more than its share. The block does not
                run.
        """
        self.take(visitor, amount)
        try:
            yield
        finally:
            self.release(visitor, amount)

    def held(self, visitor: Visitor) -> float:
        """Return the amount that the visitor's reader holds.

        All connections without a cookie count as one reader.
        """
        with self._lock:
            return self._held[visitor.accounts()[0]]

    def by_reader(self) -> dict[str, float]:
        """Return the amount that each reader holds, largest first.

        The key "" stands for all connections without a cookie.
        """
        with self._lock:
            readers = [(key, held) for (scope, key), held in self._held.items() if _is_own(scope)]
        return dict(sorted(readers, key=lambda item: item[1], reverse=True))

    def total(self) -> float:
        """Return the amount that all readers hold together."""
        return sum(self.by_reader().values())


class Rates:
    """The use of one limited resource over time, by the token bucket algorithm.

    A visitor has a share per second. Unused shares can be saved and used at once in a burst.

    Args:
        limit: a row of the table whose scope is the reader, with the share per second.
        burst_seconds: number of seconds whose share a visitor can save.
        clock: function that returns the time in seconds and never goes back.
    """

    def __init__(
        self, limit: Limit, burst_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        assert limit.scope is Scope.READER, limit.name
        self.limit, self._burst_seconds, self._clock = limit, burst_seconds, clock
        # The amount that is used and not yet refilled, and the time at which it was computed.
        self._used: dict[_Account, tuple[float, float]] = {}
        self._lock = threading.Lock()
        self._swept = clock()

    def use(self, visitor: Visitor, amount: float = 1) -> None:
        """Record that a visitor uses an amount.

        Raises:
            OverLimit: the reader or the address has not saved enough. Nothing is recorded.
        """
        if full := self.try_use(visitor, amount):
            raise OverLimit(self.limit, full)

    def try_use(self, visitor: Visitor, amount: float = 1) -> Scope | None:
        """Record an amount as `use` does, but return the scope of a used-up share, or None."""
        with self._lock:
            now = self._clock()
            self._sweep(now)
            for account in visitor.accounts():
                most = get_limit_of_scope(self.limit, account[0]) * self._burst_seconds
                if self._still_used(account, now) + amount > most:
                    return account[0]
            for account in visitor.accounts():
                self._used[account] = self._still_used(account, now) + amount, now
        return None

    def charge(self, visitor: Visitor, amount: float = 1) -> float:
        """Record an amount that was already used.

        Returns:
            Seconds to wait before the next use, or 0 if the visitor is within the saved share.
        """
        with self._lock:
            now, wait = self._clock(), 0.0
            self._sweep(now)
            for account in visitor.accounts():
                share = get_limit_of_scope(self.limit, account[0])
                used = self._still_used(account, now) + amount
                self._used[account] = used, now
                wait = max(wait, used / share - self._burst_seconds)
        return wait

    def __len__(self) -> int:
        return len(self._used)

    def _still_used(self, account: _Account, now: float) -> float:
        used, when = self._used.get(account, (0.0, now))
        return max(0.0, used - (now - when) * get_limit_of_scope(self.limit, account[0]))

    def _sweep(self, now: float) -> None:
        """Remove accounts whose share is full again, so that past visitors use no memory."""
        if now - self._swept < self._burst_seconds:
            return
        self._swept = now
        for account in list(self._used):
            if not self._still_used(account, now):
                del self._used[account]


def _is_own(scope: Scope) -> bool:
    return scope in (Scope.READER, Scope.ANONYMOUS)

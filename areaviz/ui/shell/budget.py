"""How many bytes the app may hold for its readers: in memory, and in temporary files.

AREAVIZ_MEMORY_MIB: of attention in memory (default 1,024). AREAVIZ_DISK_MIB: of uploads on disk
(default 8,192). Each reader may use a part of either (`BUDGET_PERCENT` in the table of shares).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable

import streamlit as st

from areaviz.shares.counters import Shares
from areaviz.shares.limits import BUDGET_PERCENT
from areaviz.shares.visitors import OverLimit, Visitor
from areaviz.trace.errors import BackendError, InputError
from areaviz.ui.shell.engine import engine

MEMORY, DISK = "AREAVIZ_MEMORY_MIB", "AREAVIZ_DISK_MIB"
MEBI = 2**20
_DEFAULT_MIB = {MEMORY: 1024, DISK: 8192}


class Budget:
    """Counts bytes that readers hold, and refuses what would be too much; safe for several threads.

    Args:
        most: bytes at once.
        what: what is held, for the sentence that refuses.
        spare: frees what can be made again; called before anything is refused.
    """

    def __init__(self, most: int, what: str, spare: Callable[[], None] = lambda: None) -> None:
        self._most, self._what, self._spare = most, what, spare
        # In per cent of the budget, by reader.
        self._shares = Shares(BUDGET_PERCENT)
        self._used, self._lock = 0, threading.RLock()
        self._counted = set[int]()
        # What is held may be collected at any time, in any thread, even while the lock is held. So
        # the ends are put here, and whoever asks next counts them: the size, the key and the owner.
        self._ended = deque[tuple[int, int, Visitor]]()

    @property
    def used(self) -> int:
        """The bytes that are held now."""
        with self._lock:
            while self._ended:
                size, key, owner = self._ended.popleft()
                self._used -= size
                self._counted.discard(key)
                self._shares.release(owner, self._percent(size))
            return self._used

    def reserve(self, size: int, owner: Visitor) -> Callable[[], None]:
        """Count bytes for a reader.

        Returns:
            A function that ends the count; call it once.

        Raises:
            BackendError: it would be too much, for the app or for the reader.
        """
        self._take(size, owner)
        return lambda: self._ended.append((size, 0, owner))

    def hold(self, thing: object, size: int, owner: Visitor) -> None:
        """Count bytes once, for as long as `thing` lives.

        Traces that several readers look at count for the reader who asked for them first.

        Raises:
            BackendError: as `reserve`.
        """
        with self._lock:
            if self.used >= 0 and id(thing) not in self._counted:
                self._take(size, owner)
                self._counted.add(id(thing))
                end = (size, id(thing), owner)
                weakref.finalize(thing, self._ended.append, end).atexit = False

    def megabytes_by_reader(self) -> list[float]:
        """Return how many MiB each reader holds, the one who holds most first."""
        with self._lock:
            percents = self._shares.by_reader().values() if self.used >= 0 else ()
            return [round(one / 100 * self._most / MEBI, 1) for one in percents]

    def _take(self, size: int, owner: Visitor) -> None:
        with self._lock:
            refused = self._try_take(size, owner)
            if refused is not None:
                self._spare()
                refused = self._try_take(size, owner)
            if refused is not None:
                raise refused

    def _try_take(self, size: int, owner: Visitor) -> BackendError | None:
        """Count bytes; return why that cannot be."""
        if self.used + size > self._most:
            return BackendError(
                f"The app's readers have {self.used / MEBI:,.0f} MiB of {self._what} open, and it"
                f" holds at most {self._most / MEBI:,.0f}, so there is no room for"
                f" {size / MEBI:,.0f} more. Try again in a few minutes, or with something smaller."
            )
        if scope := self._shares.try_take(owner, self._percent(size)):
            return OverLimit(BUDGET_PERCENT, scope)
        self._used += size
        return None

    def _percent(self, size: int) -> float:
        return 100 * size / self._most


@st.cache_resource(max_entries=1, show_spinner=False)
def disk() -> Budget:
    """Return the budget of the temporary files that uploads are read from."""
    return Budget(budget_bytes(DISK), "uploaded attention")


@st.cache_resource(max_entries=1, show_spinner=False)
def memory() -> Budget:
    """Return the budget of the traces that sessions hold and the backend remembers."""
    return Budget(budget_bytes(MEMORY), "attention", lambda: engine().forget())


def budget_bytes(name: str) -> int:
    """Return a budget in bytes: the operator's, or else the default.

    Args:
        name: `MEMORY` or `DISK`.

    Raises:
        InputError: the setting is not a whole number above 0.
    """
    given = os.environ.get(name, "").strip()
    if not given:
        return _DEFAULT_MIB[name] * MEBI
    if not (given.isascii() and given.isdecimal() and len(given) < 12 and int(given) > 0):
        raise InputError(
            f'The setting {name} is "{given[:40]}". It must be a whole number of MiB above 0.'
        )
    return int(given) * MEBI

"""Limits on the bytes that the app holds for its users: in memory, and in temporary files.

AREAVIZ_MEMORY_MIB limits attention in memory (default 1,024). AREAVIZ_DISK_MIB limits uploads on
disk (default 8,192). Each user may use `BUDGET_PERCENT` per cent of each limit
(`areaviz/shares/limits.py`).
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
from areaviz.ui.app.engine import get_backend

MEMORY_VARIABLE, DISK_VARIABLE = "AREAVIZ_MEMORY_MIB", "AREAVIZ_DISK_MIB"
BYTES_PER_MIB = 2**20
_DEFAULT_MIB = {MEMORY_VARIABLE: 1024, DISK_VARIABLE: 8192}


class Budget:
    """A limit on bytes held for users; safe for several threads.

    Args:
        most: the largest number of bytes at any time.
        what: describes the bytes, for the error message.
        spare: a function that frees memory whose content can be computed again. It is called
            before anything is refused.
    """

    def __init__(self, most: int, what: str, spare: Callable[[], None] = lambda: None) -> None:
        self._most, self._what, self._spare = most, what, spare
        # The use of each user, in per cent of the budget.
        self._shares = Shares(BUDGET_PERCENT)
        self._used, self._lock = 0, threading.RLock()
        self._counted = set[int]()
        # The garbage collector may free a held object at any time, in any thread, even while this
        # thread has the lock. Its size, key and owner are therefore queued here. The next call
        # subtracts the size and forgets the key.
        self._ended = deque[tuple[int, int, Visitor]]()

    @property
    def used(self) -> int:
        """The number of bytes held now."""
        with self._lock:
            while self._ended:
                size, key, owner = self._ended.popleft()
                self._used -= size
                self._counted.discard(key)
                self._shares.release(owner, self._to_percent(size))
            return self._used

    def reserve(self, size: int, owner: Visitor) -> Callable[[], None]:
        """Count bytes for a user.

        Returns:
            A function that releases the bytes. Call it once.

        Raises:
            BackendError: the app or the user would exceed the limit.
        """
        self._take(size, owner)
        return lambda: self._ended.append((size, 0, owner))

    def hold(self, thing: object, size: int, owner: Visitor) -> None:
        """Count bytes once, for as long as `thing` lives.

        A trace that several users look at counts for the first user who requested it.

        Raises:
            BackendError: the app or the user would exceed the limit.
        """
        with self._lock:
            if self.used >= 0 and id(thing) not in self._counted:
                self._take(size, owner)
                self._counted.add(id(thing))
                end = (size, id(thing), owner)
                weakref.finalize(thing, self._ended.append, end).atexit = False

    def list_mebibytes_by_user(self) -> list[float]:
        """Return the MiB that each user holds, the largest first."""
        with self._lock:
            percents = self._shares.by_reader().values() if self.used >= 0 else ()
            return [round(one / 100 * self._most / BYTES_PER_MIB, 1) for one in percents]

    def _take(self, size: int, owner: Visitor) -> None:
        with self._lock:
            refused = self._try_take(size, owner)
            if refused is not None:
                self._spare()
                refused = self._try_take(size, owner)
            if refused is not None:
                raise refused

    def _try_take(self, size: int, owner: Visitor) -> BackendError | None:
        """Count bytes. Return the error if they exceed a limit, else None."""
        if self.used + size > self._most:
            used, most, more = (
                f"{count / BYTES_PER_MIB:,.0f} MiB" for count in (self.used, self._most, size)
            )
            return BackendError(
                f"The app's readers have {used} of {self._what} open, and the"
                f" limit is {most}, so {more} more do not"
                " fit. Try again in a few minutes, or with something smaller."
            )
        if scope := self._shares.try_take(owner, self._to_percent(size)):
            return OverLimit(BUDGET_PERCENT, scope)
        self._used += size
        return None

    def _to_percent(self, size: int) -> float:
        return 100 * size / self._most


@st.cache_resource(max_entries=1, show_spinner=False)
def get_disk_budget() -> Budget:
    """Return the budget of the temporary files with uploads."""
    return Budget(read_budget_bytes(DISK_VARIABLE), "uploaded attention")


@st.cache_resource(max_entries=1, show_spinner=False)
def get_memory_budget() -> Budget:
    """Return the budget of the traces in sessions and in the backend's cache."""
    return Budget(read_budget_bytes(MEMORY_VARIABLE), "attention", lambda: get_backend().forget())


def read_budget_bytes(name: str) -> int:
    """Return a budget in bytes: the operator's setting, or the default.

    Raises:
        InputError: the setting is not a positive whole number.
    """
    given = os.environ.get(name, "").strip()
    if not given:
        return _DEFAULT_MIB[name] * BYTES_PER_MIB
    if not (given.isascii() and given.isdecimal() and len(given) < 12 and int(given) > 0):
        raise InputError(
            f'The setting {name} is "{given[:40]}". It must be a whole number of MiB above 0.'
        )
    return int(given) * BYTES_PER_MIB

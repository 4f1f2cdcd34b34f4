"""How many bytes the app may hold for all readers together: in memory, and in temporary files.

AREAVIZ_MEMORY_MIB: of attention in memory (default 512). AREAVIZ_DISK_MIB: of uploads on disk
(default 8,192).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable

import streamlit as st

from areaviz.trace.errors import BackendError
from areaviz.ui.shell.engine import engine

MEMORY, DISK = "AREAVIZ_MEMORY_MIB", "AREAVIZ_DISK_MIB"
MEBI = 2**20


class Budget:
    """Counts bytes that are held, and refuses what would be too much; safe for several threads.

    Args:
        most: bytes at once.
        what: is held, for the sentence that refuses.
        spare: frees what can be made again; called before anything is refused.
    """

    def __init__(self, most: int, what: str, spare: Callable[[], None] = lambda: None) -> None:
        self._most, self._what, self._spare = most, what, spare
        self._used, self._lock = 0, threading.RLock()
        self._counted = set[int]()
        # What is held may be collected at any time, in any thread, also while the lock is held:
        # such ends are put here, and counted by whoever asks next.
        self._ended = deque[tuple[int, int]]()

    @property
    def used(self) -> int:
        """Bytes that are held now."""
        with self._lock:
            while self._ended:
                size, key = self._ended.popleft()
                self._used -= size
                self._counted.discard(key)
            return self._used

    def reserve(self, size: int) -> Callable[[], None]:
        """Count so many bytes until what it returns is called, once.

        Raises:
            BackendError: that would be too much.
        """
        self._take(size)
        return lambda: self._ended.append((size, 0))

    def hold(self, thing: object, size: int) -> None:
        """Count so many bytes once, for as long as `thing` lives; raises as `reserve`."""
        with self._lock:
            if self.used >= 0 and id(thing) not in self._counted:
                self._take(size)
                self._counted.add(id(thing))
                weakref.finalize(thing, self._ended.append, (size, id(thing))).atexit = False

    def _take(self, size: int) -> None:
        with self._lock:
            if self.used + size > self._most:
                self._spare()
            if self.used + size > self._most:
                raise BackendError(
                    f"The app's readers have {self.used / MEBI:,.0f} MiB of {self._what} open and"
                    f" it holds at most {self._most / MEBI:,.0f}, so there is no room for"
                    f" {size / MEBI:,.0f} more; try again in a few minutes, or with something"
                    " smaller."
                )
            self._used += size


@st.cache_resource(max_entries=1, show_spinner=False)
def disk() -> Budget:
    """Of the temporary files that uploads are read from."""
    return Budget(_setting(DISK, 8192), "uploaded attention")


@st.cache_resource(max_entries=1, show_spinner=False)
def memory() -> Budget:
    """Of the traces that sessions hold, and of those that are remembered for them."""
    return Budget(_setting(MEMORY, 512), "attention", lambda: engine().forget())


def _setting(name: str, default: int) -> int:
    given = os.environ.get(name, "")
    if given and not given.isdecimal():
        raise BackendError(
            f'The setting {name} is "{given}" but must be a whole number, of MiB; fix or remove it.'
        )
    return int(given or default) * MEBI

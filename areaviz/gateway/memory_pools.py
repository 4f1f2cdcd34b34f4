"""Keeps the memory of the app small while many threads run."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# glibc's M_ARENA_MAX (malloc.h), and the pools that all threads share.
ARENA_MAX, POOLS = -8, 2


def limit_memory_pools() -> None:
    """Let all threads share two pools of memory.

    glibc gives every thread a pool of its own, and memory that one thread freed is not used by the
    others. Five readers of the largest trace then take 100 MB more. Systems without glibc have no
    such pools, so nothing is changed there.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, POOLS)

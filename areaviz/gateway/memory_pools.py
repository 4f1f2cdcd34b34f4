"""A limit on the app's memory when many threads run."""

from __future__ import annotations

import ctypes
from contextlib import suppress

# glibc's M_ARENA_MAX (malloc.h), and the pools that all threads share.
ARENA_MAX, POOLS = -8, 2


def limit_memory_pools() -> None:
    """Let all threads share two memory pools.

    glibc otherwise gives every thread its own pool, and memory that one thread freed is not used by
    other threads. Five users of the largest trace then take 100 MB more. Systems without glibc have
    no such pools, so nothing is changed there.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, POOLS)

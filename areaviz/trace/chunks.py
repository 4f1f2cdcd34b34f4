"""Work on many rows of numbers, a few rows at a time, so that what is worked on stays in the processor's cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 18
"""Numbers worked on at a time."""
THREADS, CHUNKS_A_THREAD = 4, 16
"""Threads at most, and chunks that make one more worth its start: NumPy lets others run while it searches and adds."""

Array = npt.NDArray[Any]


def in_chunks(work: Callable[[Array], Array], rows: Array, width: int, dtype: npt.DTypeLike) -> Array:
    """What `work` makes of rows, a few at a time.

    Args:
        work: makes [R, width] of R rows, [R, X].
        rows: [..., X]; never copied as a whole, so it may be a view of something much smaller.
        width: numbers made of a row.
        dtype: their type.

    Returns:
        An array [..., width].
    """
    given = rows.reshape(-1, rows.shape[-1]) if rows.flags.c_contiguous or rows.ndim == 1 else rows
    made = np.empty((*given.shape[:-1], width), dtype)
    step = max(1, CHUNK // max(rows.shape[-1], width, 1))
    starts = range(0, given.shape[-2], step)
    places = [(*lead, slice(start, start + step)) for lead in np.ndindex(given.shape[:-2]) for start in starts]

    def fill(place: tuple[int | slice, ...]) -> None:
        made[place] = work(given[place])

    threads = min(THREADS, os.cpu_count() or 1, len(places) // CHUNKS_A_THREAD)
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, places))
    else:
        for place in places:
            fill(place)
    return made.reshape(*rows.shape[:-1], width)

"""Work on many rows of numbers, a few at a time, so that they stay in the processor's cache."""

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
"""Threads at most, and how many chunks make one worth its start."""

Array = npt.NDArray[Any]


def in_chunks(
    work: Callable[[Array], Array],
    rows: Array,
    width: int,
    dtype: npt.DTypeLike,
) -> Array:
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
    slices = [slice(start, start + step) for start in range(0, given.shape[-2], step)]
    places = [(*lead, some) for lead in np.ndindex(given.shape[:-2]) for some in slices]

    def fill(place: tuple[int | slice, ...]) -> None:
        made[place] = work(given[place])

    # NumPy lets other threads run while it searches and adds.
    threads = min(THREADS, os.cpu_count() or 1, len(places) // CHUNKS_A_THREAD)
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, places))
    else:
        for place in places:
            fill(place)
    return made.reshape(*rows.shape[:-1], width)

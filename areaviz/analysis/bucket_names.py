"""Names of buckets, made from their edges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

# Edge of a bucket without an upper limit. A bucket without a lower limit has the edge -BEYOND.
BEYOND = np.inf


def name_buckets(edges: Sequence[float]) -> list[str]:
    """Return the names of buckets, such as "5", "6–8" and "60+", or "below 0.5"."""
    if edges[0] != -BEYOND:
        return [_count_name(low, high) for low, high in pairwise(edges)]
    for digits in range(3, 18):
        names = [_name_value_range(low, high, digits) for low, high in pairwise(edges)]
        # Large values that are close together need more digits to differ.
        if len(set(names)) == len(names):
            break
    return names


def _count_name(low: float, high: float) -> str:
    if high == BEYOND:
        return f"{low:,}+"
    return f"{low}" if high == low + 1 else f"{low:,}–{high - 1:,}"


def _name_value_range(low: float, high: float, digits: int) -> str:
    if low == -BEYOND:
        return "all" if high == BEYOND else f"below {high:.{digits}g}"
    return f"{low:.{digits}g}+" if high == BEYOND else f"{low:.{digits}g} to {high:.{digits}g}"

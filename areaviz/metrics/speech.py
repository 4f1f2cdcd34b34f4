"""Metrics of speech recognition: the error rate, and whether attention finds a spoken digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def count_edits(found: str, wanted: str) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and substitutions."""
    row = list(range(len(wanted) + 1))
    for number, letter in enumerate(found, start=1):
        before, row = row, [number]
        for place, other in enumerate(wanted):
            exchanged = before[place] + (letter != other)
            row.append(min(exchanged, before[place + 1] + 1, row[-1] + 1))
    return row[-1]


def compute_error_rate(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the number of edits per wanted character, over all examples together. 0 is perfect."""
    letters = sum(map(len, wanted))
    return sum(count_edits(*pair) for pair in zip(found, wanted, strict=True)) / max(1, letters)


def find_boundary_hits(
    weights_TM: npt.NDArray[np.float32], bounds: Sequence[tuple[int, int]], samples_an_item: int
) -> list[bool]:
    """Return whether the top item of each digit overlaps the samples in which the digit is said.

    Args:
        weights_TM: Weights of the items for each digit.
        bounds: First sample and end sample (exclusive) of each digit.
        samples_an_item: Samples per item. Item m starts at sample m * samples_an_item.
    """
    hits = []
    for weights_M, one in zip(weights_TM, bounds, strict=False):
        inside_M = find_items_inside(one, len(weights_M), samples_an_item)
        hits.append(bool(inside_M[weights_M.argmax()]))
    return hits


def find_items_inside(
    bounds: tuple[int, int], items: int, samples_an_item: int
) -> npt.NDArray[np.bool_]:
    """Return which items overlap the samples from the first to the end (exclusive): bool [M]."""
    first, behind = bounds
    starts_M = np.arange(items) * samples_an_item
    inside: npt.NDArray[np.bool_] = (starts_M < behind) & (starts_M + samples_an_item > first)
    return inside

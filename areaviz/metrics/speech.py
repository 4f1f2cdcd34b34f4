"""How well what was heard is right, and whether attention looked where it was said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def edits(found: str, wanted: str) -> int:
    """The fewest letters that are put in, left out or exchanged to get from one to the other."""
    row = list(range(len(wanted) + 1))
    for number, letter in enumerate(found, start=1):
        before, row = row, [number]
        for place, other in enumerate(wanted):
            exchanged = before[place] + (letter != other)
            row.append(min(exchanged, before[place + 1] + 1, row[-1] + 1))
    return row[-1]


def error_rate(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Edits over the letters that were wanted, in all examples together; 0 is perfect."""
    letters = sum(map(len, wanted))
    return sum(edits(*pair) for pair in zip(found, wanted, strict=True)) / max(1, letters)


def boundary_hits(
    weights_TM: npt.NDArray[np.float32], bounds: Sequence[tuple[int, int]], samples_an_item: int
) -> list[bool]:
    """Whether the heaviest item of each digit overlaps the samples in which it is said.

    Args:
        weights_TM: weights of the items for each digit.
        bounds: first sample of each digit and the one behind its last.
        samples_an_item: item m is of the samples from m * samples_an_item on.
    """
    hits = []
    for weights_M, (first, behind) in zip(weights_TM, bounds, strict=False):
        start = int(weights_M.argmax()) * samples_an_item
        hits.append(start < behind and start + samples_an_item > first)
    return hits

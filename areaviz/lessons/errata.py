"""The misprints of the papers on areas, computed as printed and as corrected (docs/misprints.md).

A18 is the first version of the paper (2018), and A19 is the published version (Li et al. 2019). The
misprints of the survey are in `areaviz.lessons.survey_errata`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, compute_padded_table, sum_by_corners
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class Loops:
    """The result of Algorithm 1 for a grid of ones, where each sum should equal the area's size.

    Args:
        areas: the number of returned sums.
        first: the first sum, which should be that of an area of 1 x 1 items.
        right: the number of sums that equal the size of their area.
    """

    areas: int
    first: float
    right: int


def run_loops(side: int, largest: int, printed: bool) -> Loops:
    """Run Algorithm 1 on side x side ones with areas up to largest x largest.

    Slices start at h + 1 and w + 1 as printed, and at h and w as corrected.
    """
    table_HW = compute_padded_table(np.ones((side, side, 1)))[..., 0]
    shift = int(printed)
    areas = 0
    right = 0
    first = 0.0
    for h in range(1, largest + 1):
        for w in range(1, largest + 1):
            if max(h, w) + shift > side:
                continue  # the slices are empty
            sums = sum_by_corners(table_HW, h + shift, w + shift)
            first = first or float(sums[0, 0])
            areas += sums.size
            right += int((sums == h * w).sum())
    return Loops(areas, first, right)


def compute_integral(side: int, printed: bool) -> Floats:
    """Return the summed area table of side x side ones by A18 Eq. 10: [side, side].

    The corrected equation also subtracts I[x-1, y-1].
    """
    table_HW = np.zeros((side + 1, side + 1))
    for row in range(1, side + 1):
        for column in range(1, side + 1):
            twice = 0 if printed else table_HW[row - 1, column - 1]
            both = table_HW[row - 1, column] + table_HW[row, column - 1]
            table_HW[row, column] = 1 + both - twice
    return table_HW[1:, 1:]


def count_spans_as_printed(length: int, size: int) -> int:
    """Return the printed number of spans, (L - S) S + S (S + 1) / 2.

    The formula is wrong if S is larger than L.
    """
    return (length - size) * size + size * (size + 1) // 2


def count_spans(length: int, size: int) -> int:
    """Return the number of spans of at most `size` items in a sequence of `length` items."""
    return AreaGrid.clamped((1, length), (1, size)).count

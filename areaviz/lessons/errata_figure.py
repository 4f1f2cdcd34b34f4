"""Lesson 12: the misprints of the papers on areas, run as printed and as repaired.

A18 is the first version (2018), A19 the published one (Li et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, padded_table
from areaviz.lessons.board import BLUE, QUIET, VERMILION, Board, tint
from areaviz.lessons.rounding_figure import GRID, measure
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class Loops:
    """What Algorithm 1 returns on a grid of ones.

    areas: how many; first: the sum of the first area, labelled 1 x 1; right: how many of the
    returned sums equal the size on their label.
    """

    areas: int
    first: float
    right: int


def loops(side: int, largest: int, printed: bool) -> Loops:
    """Run Algorithm 1 on side x side ones with areas up to largest x largest.

    As printed, slices start at h + 1 and w + 1; repaired, at h and w.
    """
    table, shift = padded_table(np.ones((side, side, 1)))[..., 0], int(printed)
    sums: list[float] = []
    labels: list[int] = []
    for h in range(1, largest + 1):
        for w in range(1, largest + 1):
            found = _corner_sums(table, h + shift, w + shift)
            sums.extend(found.ravel().tolist())
            labels.extend([h * w] * found.size)
    right = sum(total == label for total, label in zip(sums, labels, strict=True))
    return Loops(len(sums), sums[0] if sums else 0.0, right)


def integral(side: int, printed: bool) -> Floats:
    """A18 Eq. 10 on side x side ones; repaired, it subtracts I[x-1, y-1]."""
    table = np.zeros((side + 1, side + 1))
    for row in range(1, side + 1):
        for column in range(1, side + 1):
            twice = 0 if printed else table[row - 1, column - 1]
            table[row, column] = 1 + table[row - 1, column] + table[row, column - 1] - twice
    return table[1:, 1:]


def printed_count(length: int, size: int) -> int:
    """(L - S) S + S (S + 1) / 2 without asking whether S fits."""
    return (length - size) * size + size * (size + 1) // 2


def true_count(length: int, size: int) -> int:
    """How many spans of at most `size` items there are in `length` items."""
    return AreaGrid.clamped((1, length), (1, size)).count


def integral_figure(side: int) -> Figure:
    """What does the missing term do? The table of a grid of ones as printed and as repaired."""
    board = Board(-0.05, -0.7, 2 * side + 0.85, side + 0.05, cell=46)
    for x, name, printed, colour in (
        (0.0, "as printed", True, VERMILION),
        (side + 0.8, "as implemented", False, BLUE),
    ):
        values = integral(side, printed)
        for (row, column), value in np.ndenumerate(values):
            last = row == column == side - 1
            board.box(x + column, row, tint(colour, 0.45) if last else QUIET, f"{value:g}")
        board.text(x + side / 2, -0.35, name)
    return board.figure()


def integral_table(side: int) -> Table:
    """Both versions of the table, row by row."""
    both = [
        [" ".join(f"{value:g}" for value in row) for row in integral(side, printed)]
        for printed in (True, False)
    ]
    rows = [(row + 1, wrong, right) for row, (wrong, right) in enumerate(zip(*both, strict=True))]
    return Table(("Row", "As printed", "As implemented"), rows)


def table(side: int, largest: int, length: int, size: int, mean: float) -> Table:
    """Every misprint with the number it gives and the number it should give."""
    wrong, mended = loops(side, largest, True), loops(side, largest, False)
    last = [f"{integral(side, printed)[-1, -1]:g}" for printed in (True, False)]
    rows: list[tuple[str, object, object]] = [
        ("Algorithm 1, areas returned", wrong.areas, mended.areas),
        (
            "Algorithm 1, sum of the first area of ones, labelled 1 × 1",
            f"{wrong.first:g}",
            f"{mended.first:g}",
        ),
        ("Eq. 10 (2018), last entry for ones", last[0], last[1]),
        (f"Algorithm 2, negative variances among {GRID.count}", measure(mean).negative, 0),
        (
            f"Count formula, L = {length}, S = {size}",
            printed_count(length, size),
            true_count(length, size),
        ),
    ]
    return Table(
        ("Where", "As printed", "As implemented"), [(name, str(a), str(b)) for name, a, b in rows]
    )


def _corner_sums(table: Floats, h: int, w: int) -> Floats:
    if h >= len(table) or w >= len(table):
        return np.zeros((0, 0))
    sums: Floats = table[h:, w:] + table[:-h, :-w] - table[h:, :-w] - table[:-h, w:]
    return sums

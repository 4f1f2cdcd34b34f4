"""Sums, means and standard deviations of every area, in NumPy, and how their numbers are written.

Shapes: H x W items of the memory, D features of an item, A areas in the order of
`areaviz.trace.areas`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid

Floats = npt.NDArray[np.floating[Any]]
Slabs = dict[tuple[int, int], Floats]
"""One array for each area shape: (h, w) -> [H-h+1, W-w+1, D]."""
Part = tuple[Floats, Floats, int]
"""Mean, summed squared deviation, count."""


def items_of(x_HWD: Floats, area: Area) -> Floats:
    """The items an area holds, row by row: [items, D]."""
    block = x_HWD[area.top : area.top + area.height, area.left : area.left + area.width]
    return block.reshape(area.size, -1)


def area_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The sum of every area (Eq. 4, Li et al. 2019) by the running recurrence: [A, D].

    An area is the area one row shorter plus one row; a row is the row one item shorter plus one
    item. One addition an area, no subtraction, so nothing cancels.
    """
    slabs: Slabs = {(1, 1): x_HWD}
    for h, w in grid.shapes():
        if h > 1:
            slabs[h, w] = slabs[h - 1, w][:-1] + slabs[1, w][h - 1 :]
        elif w > 1:
            slabs[1, w] = slabs[1, w - 1][:, :-1] + x_HWD[:, w - 1 :]
    return _flat(slabs, grid)


def area_means(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The mean of every area (Eq. 3, Li et al. 2019): [A, D]."""
    means: Floats = area_sums(x_HWD, grid) / grid.sizes()[:, None].astype(x_HWD.dtype)
    return means


def area_deviations(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The standard deviation of every area (Eq. 5, Li et al. 2019): [A, D], never below 0.

    Areas grow by merging mean and summed squared deviation, in the precision of the input.
    """
    means: Slabs = {(1, 1): x_HWD}
    squares: Slabs = {(1, 1): np.zeros_like(x_HWD)}
    for h, w in grid.shapes():
        if h > 1:
            above = means[h - 1, w][:-1], squares[h - 1, w][:-1], (h - 1) * w
            row = means[1, w][h - 1 :], squares[1, w][h - 1 :], w
            means[h, w], squares[h, w] = _merge(above, row)
        elif w > 1:
            left = means[1, w - 1][:, :-1], squares[1, w - 1][:, :-1], w - 1
            item = x_HWD[:, w - 1 :], squares[1, 1][:, w - 1 :], 1
            means[1, w], squares[1, w] = _merge(left, item)
    sizes = grid.sizes()[:, None].astype(x_HWD.dtype)
    deviations: Floats = np.sqrt(_flat(squares, grid) / sizes)
    return deviations


def padded_table(x_HWD: Floats) -> Floats:
    """The summed area table with a row of zeros above and a column of zeros left: [H+1, W+1, D]."""
    summed = np.cumsum(np.cumsum(x_HWD, axis=1, dtype=x_HWD.dtype), axis=0, dtype=x_HWD.dtype)
    return np.pad(summed, ((1, 0), (1, 0), (0, 0)))


def table_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The sum of every area from the four corners of the table (Algorithm 1, indices repaired): [A,
    D].
    """
    i = padded_table(x_HWD)
    slabs: Slabs = {}
    for h, w in grid.shapes():
        slabs[h, w] = i[h:, w:] + i[:-h, :-w] - i[h:, :-w] - i[:-h, w:]
    return _flat(slabs, grid)


def table_variances(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The variance of every area as Algorithm 2 takes it, mean of squares less squared mean: [A,
    D].

    Rounding can make it negative.
    """
    sizes = grid.sizes()[:, None].astype(x_HWD.dtype)
    mean = table_sums(x_HWD, grid) / sizes
    variances: Floats = table_sums(x_HWD * x_HWD, grid) / sizes - mean * mean
    return variances


def plain(number: float, digits: int = 3) -> str:
    """A number as a person writes it: at most `digits` decimals, no trailing zeros, no
    minus zero.
    """
    text = f"{number:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def vector(numbers: Iterable[float], digits: int = 3) -> str:
    """A vector as a person writes it: `3` if it has one number, else `(3, 4)`."""
    parts = [plain(float(number), digits) for number in numbers]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _merge(one: Part, two: Part) -> tuple[Floats, Floats]:
    """Mean and summed squared deviation of two parts together (Chan, Golub and LeVeque 1983)."""
    (mean, square, count), (other_mean, other_square, other_count) = one, two
    delta, total = other_mean - mean, count + other_count
    merged = square + other_square + delta * delta * (count * other_count / total)
    return mean + delta * (other_count / total), merged


def _flat(slabs: Slabs, grid: AreaGrid) -> Floats:
    return np.concatenate(
        [slabs[shape].reshape(-1, slabs[shape].shape[-1]) for shape in grid.shapes()]
    )

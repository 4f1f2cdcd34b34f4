"""Sums, means and deviations of every area in NumPy, and how numbers are written.

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
"""Mean and summed squared deviation of all areas of one shape [H-h+1, W-w+1, D], and their size."""


def areas_of(grid: AreaGrid) -> list[Area]:
    """All areas of a grid, in the order the model counts them."""
    return [grid.area(number) for number in range(grid.count)]


def holds(area: Area, row: int, column: int) -> bool:
    """Whether the item at (row, column) is one of the area's."""
    inside = area.top <= row < area.top + area.height
    return inside and area.left <= column < area.left + area.width


def items_of(x_HWD: Floats, area: Area) -> Floats:
    """The items an area holds, row by row: [items, D]."""
    block = x_HWD[area.top : area.top + area.height, area.left : area.left + area.width]
    return block.reshape(area.size, -1)


def softmax(logits: Floats) -> Floats:
    """Weights that sum to 1, of logits in one row."""
    raised = np.exp(logits - logits.max())
    weights: Floats = raised / raised.sum()
    return weights


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
    return _all_areas(slabs, grid)


def area_means(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The mean of every area (Eq. 3, Li et al. 2019): [A, D]."""
    means: Floats = area_sums(x_HWD, grid) / _sizes(x_HWD, grid)
    return means


def area_deviations(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The standard deviation of every area (Eq. 5, Li et al. 2019): [A, D], never below 0.

    Areas grow by merging mean and summed squared deviation, in the precision of the input.
    """
    parts: dict[tuple[int, int], Part] = {(1, 1): (x_HWD, np.zeros_like(x_HWD), 1)}
    for h, w in grid.shapes():
        if h > 1:
            parts[h, w] = _merge(parts[h - 1, w], np.s_[:-1], parts[1, w], np.s_[h - 1 :])
        elif w > 1:
            parts[1, w] = _merge(parts[1, w - 1], np.s_[:, :-1], parts[1, 1], np.s_[:, w - 1 :])
    squares = {shape: square for shape, (_, square, _) in parts.items()}
    deviations: Floats = np.sqrt(_all_areas(squares, grid) / _sizes(x_HWD, grid))
    return deviations


def padded_table(x_HWD: Floats) -> Floats:
    """The summed area table with a row of zeros above and a column of zeros left: [H+1, W+1, D]."""
    along_rows = np.cumsum(x_HWD, axis=1, dtype=x_HWD.dtype)
    summed = np.cumsum(along_rows, axis=0, dtype=x_HWD.dtype)
    return np.pad(summed, ((1, 0), (1, 0), (0, 0)))


def corner_sums(table: Floats, h: int, w: int) -> Floats:
    """The sums of all areas of h x w items, from the four corners of each in a padded table."""
    sums: Floats = table[h:, w:] + table[:-h, :-w] - table[h:, :-w] - table[:-h, w:]
    return sums


def table_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The sum of every area from the table (Algorithm 1, indices repaired): [A, D]."""
    table = padded_table(x_HWD)
    return _all_areas({(h, w): corner_sums(table, h, w) for h, w in grid.shapes()}, grid)


def table_variances(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The variance of every area as Algorithm 2 computes it: [A, D].

    It is the mean of the squares less the squared mean, which rounding can make negative.
    """
    sizes = _sizes(x_HWD, grid)
    mean = table_sums(x_HWD, grid) / sizes
    variances: Floats = table_sums(x_HWD * x_HWD, grid) / sizes - mean * mean
    return variances


def plain(number: float, digits: int = 3) -> str:
    """A number with at most `digits` decimals, without trailing zeros or a minus zero."""
    text = f"{number:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def vector(numbers: Iterable[float], digits: int = 3) -> str:
    """A vector in writing: `(3, 4)`, or `3` if it has one number."""
    parts = [plain(number, digits) for number in numbers]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _sizes(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """The number of items of every area, in the precision of the memory: [A, 1]."""
    return grid.sizes()[:, None].astype(x_HWD.dtype)


def _merge(one: Part, where: Any, other: Part, other_where: Any) -> Part:
    """Two parts together, each at some of its places (Chan, Golub and LeVeque 1983)."""
    mean, square, count = one
    other_mean, other_square, other_count = other
    total = count + other_count
    delta = other_mean[other_where] - mean[where]
    between = delta * delta * (count * other_count / total)
    merged = square[where] + other_square[other_where] + between
    return mean[where] + delta * (other_count / total), merged, total


def _all_areas(slabs: Slabs, grid: AreaGrid) -> Floats:
    """The slabs one after the other, an area a row: [A, D]."""
    features = slabs[1, 1].shape[-1]
    return np.concatenate([slabs[shape].reshape(-1, features) for shape in grid.shapes()])

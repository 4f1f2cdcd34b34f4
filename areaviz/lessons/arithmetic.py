"""Sums, means and deviations of every area in NumPy, and how numbers are written.

Shapes: H x W items of the memory, D features of an item, A areas in the order of
`areaviz.trace.areas`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid

Floats = npt.NDArray[np.floating[Any]]
Slabs = dict[tuple[int, int], Floats]
"""One array for each area shape: (h, w) -> [..., H-h+1, W-w+1, D]."""


def areas_of(grid: AreaGrid) -> list[Area]:
    """All areas of a grid, in the order the model counts them."""
    return [grid.area(number) for number in range(grid.count)]


def items_of(x_HWD: Floats, area: Area) -> Floats:
    """Return the items an area holds, row by row: [items, D]."""
    block = x_HWD[area.top : area.top + area.height, area.left : area.left + area.width]
    return block.reshape(area.size, -1)


def softmax(logits: Floats) -> Floats:
    """Weights that sum to 1, of logits in one row."""
    raised = np.exp(logits - logits.max())
    weights: Floats = raised / raised.sum()
    return weights


def area_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area (Eq. 4, Li et al. 2019) by the running recurrence: [A, D].

    One addition an area, no subtraction, so nothing cancels.
    """
    return _all_areas(_grow(x_HWD, grid, lambda one, other, *_: one + other), grid)


def area_means(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the mean of every area (Eq. 3, Li et al. 2019): [A, D]."""
    means: Floats = area_sums(x_HWD, grid) / _sizes(x_HWD, grid)
    return means


def area_deviations(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the standard deviation of every area (Eq. 5, Li et al. 2019): [A, D], never below 0.

    Areas grow by merging mean and summed squared deviation, in the precision of the input.
    """
    # A single item is its own mean and has no deviation.
    mean_and_square = np.stack([x_HWD, np.zeros_like(x_HWD)])
    grown = _grow(mean_and_square, grid, _merge)
    squares = {shape: square for shape, (_, square) in grown.items()}
    deviations: Floats = np.sqrt(_all_areas(squares, grid) / _sizes(x_HWD, grid))
    return deviations


def padded_table(x_HWD: Floats) -> Floats:
    """Return the summed area table, with zeros above and to the left: [H+1, W+1, D]."""
    # In the precision of the memory: its rounding errors are measured in `rounding`.
    along_rows = np.cumsum(x_HWD, axis=1, dtype=x_HWD.dtype)
    summed = np.cumsum(along_rows, axis=0, dtype=x_HWD.dtype)
    return np.pad(summed, ((1, 0), (1, 0), (0, 0)))


def corner_sums(table: Floats, h: int, w: int) -> Floats:
    """Return the sums of all areas of h x w items, from four corners of a padded table."""
    upper_left = table[:-h, :-w]
    lower_right = table[h:, w:]
    lower_left = table[h:, :-w]
    upper_right = table[:-h, w:]
    sums: Floats = lower_right + upper_left - lower_left - upper_right
    return sums


def table_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area from the table (Algorithm 1, indices repaired): [A, D]."""
    table = padded_table(x_HWD)
    return _all_areas({(h, w): corner_sums(table, h, w) for h, w in grid.shapes()}, grid)


def table_variances(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the variance of every area as Algorithm 2 computes it: [A, D].

    It is the mean of the squares less the squared mean, which rounding can make negative.
    """
    sizes = _sizes(x_HWD, grid)
    mean = table_sums(x_HWD, grid) / sizes
    variances: Floats = table_sums(x_HWD * x_HWD, grid) / sizes - mean * mean
    return variances


def plain(number: float, digits: int = 3) -> str:
    """Return a number with at most `digits` decimals, without trailing zeros or a minus zero."""
    text = f"{number:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    # A small negative number rounds to "-0".
    return "0" if text == "-0" else text


def _sizes(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the number of items of every area, in the precision of the memory: [A, 1]."""
    return grid.sizes()[:, None].astype(x_HWD.dtype)


def _grow(
    items: Floats, grid: AreaGrid, merge: Callable[[Floats, Floats, int, int], Floats]
) -> Slabs:
    """Return what is known of every area, made of what is known of single items [..., H, W, D].

    An area is the area one row shorter plus one row; a row is the row one item shorter plus one
    item.

    Args:
        items: what is known of every item.
        grid: all areas.
        merge: puts two parts together, given both and how many items each has.
    """
    slabs: Slabs = {(1, 1): items}
    for h, w in grid.shapes():
        if h > 1:
            above = slabs[h - 1, w][..., :-1, :, :]
            row = slabs[1, w][..., h - 1 :, :, :]
            slabs[h, w] = merge(above, row, (h - 1) * w, w)
        elif w > 1:
            left = slabs[1, w - 1][..., :-1, :]
            item = items[..., w - 1 :, :]
            slabs[1, w] = merge(left, item, w - 1, 1)
    return slabs


def _merge(one: Floats, other: Floats, count: int, other_count: int) -> Floats:
    """Mean and summed squared deviation of two parts (Chan, Golub and LeVeque 1983): [2, ...]."""
    (mean, square), (other_mean, other_square) = one, other
    total = count + other_count
    delta = other_mean - mean
    between = delta * delta * (count * other_count / total)
    return np.stack([mean + delta * (other_count / total), square + other_square + between])


def _all_areas(slabs: Slabs, grid: AreaGrid) -> Floats:
    """Return the slabs one after the other, an area a row: [A, D]."""
    features = slabs[1, 1].shape[-1]
    return np.concatenate([slabs[shape].reshape(-1, features) for shape in grid.shapes()])

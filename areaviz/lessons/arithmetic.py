"""Sums, means and deviations of every area in NumPy, and the format of numbers in the lessons.

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
"""Maps each area shape (h, w) to an array for all areas of this shape, [..., H-h+1, W-w+1, D]."""


def list_areas(grid: AreaGrid) -> list[Area]:
    """Return all areas of a grid, in the order in which the model numbers them."""
    return [grid.area(number) for number in range(grid.count)]


def select_items(x_HWD: Floats, area: Area) -> Floats:
    """Return the items in an area, row by row: [items, D]."""
    block = x_HWD[area.top : area.top + area.height, area.left : area.left + area.width]
    return block.reshape(area.size, -1)


def softmax(logits: Floats) -> Floats:
    """Return the softmax of logits [A]: weights [A] that sum to 1."""
    raised = np.exp(logits - logits.max())
    weights: Floats = raised / raised.sum()
    return weights


def compute_area_sums(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area (Eq. 4, Li et al. 2019): [A, D].

    Every area is computed from a smaller one by an addition. Without subtractions, no digits are
    lost.
    """
    return _concatenate_slabs(_grow(x_HWD, grid, lambda one, other, *_: one + other), grid)


def compute_area_means(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the mean of every area (Eq. 3, Li et al. 2019): [A, D]."""
    means: Floats = compute_area_sums(x_HWD, grid) / _count_items(x_HWD, grid)
    return means


def compute_area_deviations(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the standard deviation of every area (Eq. 5, Li et al. 2019): [A, D].

    The mean and the summed squared deviation of an area are merged from those of smaller areas, in
    the precision of the input. The result is never negative.
    """
    # A single item is its own mean and has no deviation.
    mean_and_square = np.stack([x_HWD, np.zeros_like(x_HWD)])
    grown = _grow(mean_and_square, grid, _merge)
    squares = {shape: square for shape, (_, square) in grown.items()}
    deviations: Floats = np.sqrt(_concatenate_slabs(squares, grid) / _count_items(x_HWD, grid))
    return deviations


def compute_padded_table(x_HWD: Floats) -> Floats:
    """Return the summed area table, with zeros above and to the left: [H+1, W+1, D]."""
    # Use the precision of the memory, because `rounding` measures the rounding errors.
    along_rows = np.cumsum(x_HWD, axis=1, dtype=x_HWD.dtype)
    summed = np.cumsum(along_rows, axis=0, dtype=x_HWD.dtype)
    return np.pad(summed, ((1, 0), (1, 0), (0, 0)))


def sum_by_corners(table: Floats, h: int, w: int) -> Floats:
    """Return the sums of all areas of h x w items, from four corners of a padded table."""
    upper_left = table[:-h, :-w]
    lower_right = table[h:, w:]
    lower_left = table[h:, :-w]
    upper_right = table[:-h, w:]
    sums: Floats = lower_right + upper_left - lower_left - upper_right
    return sums


def compute_sums_by_table(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the sum of every area from the summed area table: [A, D].

    This is Algorithm 1 of the paper with corrected indices.
    """
    table = compute_padded_table(x_HWD)
    return _concatenate_slabs({(h, w): sum_by_corners(table, h, w) for h, w in grid.shapes()}, grid)


def compute_variances_by_table(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the variance of every area as Algorithm 2 computes it: [A, D].

    It is the mean of the squares minus the squared mean, which rounding can make negative.
    """
    sizes = _count_items(x_HWD, grid)
    mean = compute_sums_by_table(x_HWD, grid) / sizes
    variances: Floats = compute_sums_by_table(x_HWD * x_HWD, grid) / sizes - mean * mean
    return variances


def format_number(number: float, digits: int = 3) -> str:
    """Return a number with at most `digits` decimals, without trailing zeros or a minus zero."""
    text = f"{number:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    # A small negative number rounds to "-0".
    return "0" if text == "-0" else text


def _count_items(x_HWD: Floats, grid: AreaGrid) -> Floats:
    """Return the number of items of every area, in the precision of the memory: [A, 1]."""
    return grid.sizes()[:, None].astype(x_HWD.dtype)


def _grow(
    items: Floats, grid: AreaGrid, merge: Callable[[Floats, Floats, int, int], Floats]
) -> Slabs:
    """Return statistics of every area, computed from those of single items by merging.

    An area of several rows is merged from an area with one row less, and a row. A row of several
    items is merged from a row with one item less, and an item.

    Args:
        items: the statistics of every item, [..., H, W, D].
        grid: the grid of areas.
        merge: function that merges the statistics of two parts. Its arguments are the statistics of
            both parts, and the number of items in each.
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
    """Merge the mean and summed squared deviation [2, ...] of two parts.

    Chan, Golub and LeVeque 1983.
    """
    (mean, square), (other_mean, other_square) = one, other
    total = count + other_count
    delta = other_mean - mean
    between = delta * delta * (count * other_count / total)
    return np.stack([mean + delta * (other_count / total), square + other_square + between])


def _concatenate_slabs(slabs: Slabs, grid: AreaGrid) -> Floats:
    """Return the arrays of all area shapes as one array with a row for each area: [A, D]."""
    features = slabs[1, 1].shape[-1]
    return np.concatenate([slabs[shape].reshape(-1, features) for shape in grid.shapes()])

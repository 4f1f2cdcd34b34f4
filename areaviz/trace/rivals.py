"""The rivals of an area, which are the areas of a grid that overlap it too much.

The overlap of two areas depends on their shapes and on the shift between them, never on their
position in the memory. The rivals of every shape are therefore listed once, as shapes and shifts,
and moved to each chosen area. For a grid with very many shapes (see `can_list`), comparing each
chosen area with all areas is faster.

Shapes: S shapes of areas (height, width) in the grid's order, J rivals of a shape, R chosen areas,
V and H runs of neighbours along the vertical and the horizontal side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from areaviz.trace.areas import AreaGrid, IntArray

# Maximum number of listed rivals over all shapes.
MAX_LISTED_RIVALS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """The areas that overlap a chosen area too much, for all areas of a grid.

    All shapes have the same number of entries. Shapes with fewer rivals are padded with themselves.
    """

    # For every shape: the index of its first area, and the number of columns in which its top left
    # corner can be: [S].
    first_S: IntArray
    columns_S: IntArray
    # For every rival: its index when the chosen area is in the top left corner of the memory, and
    # the number of columns in which the top left corner of the rival can be: [S, J].
    base_SJ: IntArray
    columns_SJ: IntArray
    # Range of rows and columns of the chosen area's corner for which the rival is inside the
    # memory: [S, J].
    first_row_SJ: IntArray
    last_row_SJ: IntArray
    first_column_SJ: IntArray
    last_column_SJ: IntArray

    def indices(self, chosen_R: IntArray) -> IntArray:
        """Return each chosen area and its rivals, which are to be removed: int64 [R, J]."""
        shape_R = np.searchsorted(self.first_S, chosen_R, side="right") - 1
        row_R, column_R = np.divmod(chosen_R - self.first_S[shape_R], self.columns_S[shape_R])
        column_R1 = column_R[:, None]
        rival_RJ = self.base_SJ[shape_R] + column_R1
        inside_RJ = self.first_column_SJ[shape_R] <= column_R1
        inside_RJ &= column_R1 <= self.last_column_SJ[shape_R]
        # A memory with one row does not need this.
        if row_R.any() or self.first_row_SJ.any():
            row_R1 = row_R[:, None]
            rival_RJ += row_R1 * self.columns_SJ[shape_R]
            inside_RJ &= self.first_row_SJ[shape_R] <= row_R1
            inside_RJ &= row_R1 <= self.last_row_SJ[shape_R]
        return np.where(inside_RJ, rival_RJ, chosen_R[:, None])


def can_list(grid: AreaGrid) -> bool:
    """Return whether the rivals of all shapes are few enough to list, for every `max_overlap`."""
    rivals = 1
    for largest in (grid.max_height, grid.max_width):
        rivals *= largest * (largest * largest + largest * (largest - 1) // 2)
    return rivals <= MAX_LISTED_RIVALS


@lru_cache(maxsize=32)
def find_rivals(grid: AreaGrid, max_overlap: float) -> Rivals:
    """Return the rivals of all shapes of a grid, which must satisfy `can_list`."""
    shapes = list(grid.shapes())
    lists = [_find_close(height, width, grid, max_overlap) for height, width in shapes]
    # One entry more than the longest list, because a shape without rivals still needs an entry
    # for the chosen area itself.
    longest = 1 + max(len(rivals_J4) for rivals_J4 in lists)
    padded_SJ4 = np.empty((len(shapes), longest, 4), dtype=np.int64)
    for shape, rivals_J4 in enumerate(lists):
        padded_SJ4[shape] = (*shapes[shape], 0, 0)
        padded_SJ4[shape, : len(rivals_J4)] = rivals_J4
    height_SJ, width_SJ, down_SJ, right_SJ = np.moveaxis(padded_SJ4, 2, 0)
    slabs_S3 = np.array([grid.slab(height, width) for height, width in shapes])
    shape_SJ = (height_SJ - 1) * grid.max_width + width_SJ - 1
    columns_SJ = slabs_S3[shape_SJ, 2]
    return Rivals(
        first_S=slabs_S3[:, 0],
        columns_S=slabs_S3[:, 2],
        base_SJ=slabs_S3[shape_SJ, 0] + down_SJ * columns_SJ + right_SJ,
        columns_SJ=columns_SJ,
        first_row_SJ=-down_SJ,
        last_row_SJ=grid.height - height_SJ - down_SJ,
        first_column_SJ=-right_SJ,
        last_column_SJ=grid.width - width_SJ - right_SJ,
    )


def _find_close(height: int, width: int, grid: AreaGrid, max_overlap: float) -> IntArray:
    """Return the rivals of one shape: (height, width, shift down, shift right), [J, 4]."""
    height_V, down_V, rows_V = _compare_along_axis(height, grid.max_height)
    width_H, right_H, columns_H = _compare_along_axis(width, grid.max_width)
    shared_VH = rows_V[:, None] * columns_H
    size_VH = height_V[:, None] * width_H
    v, h = np.nonzero(shared_VH / (height * width + size_VH - shared_VH) > max_overlap)
    return np.stack([height_V[v], width_H[h], down_V[v], right_H[h]], 1)


def _compare_along_axis(extent: int, largest: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return extent, shift and intersection of runs that meet a run of `extent` items: [V]."""
    runs = [(other, shift) for other in range(1, largest + 1) for shift in range(1 - other, extent)]
    other_V, shift_V = np.array(runs, dtype=np.int64).T
    shared_V = np.minimum(extent, shift_V + other_V) - np.maximum(shift_V, 0)
    return other_V, shift_V, shared_V

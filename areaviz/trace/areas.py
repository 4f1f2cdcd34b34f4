"""The areas of a memory: their order, their names, and the algebra of weights on them.

Start with `AreaGrid`. The file then has the overlaps between areas, top areas, coverage and
sums of weights, and the smallest area that holds a given share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from math import isqrt
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

# The areas of a memory, their order, and phrases that describe their position.
#
# A memory is a grid of `height` x `width` items (a sequence has height 1). An area is a rectangle
# of at most `max_height` x `max_width` items (Li et al. 2019, section 3). Models and viewers share
# this enumeration of the areas: size-major (for h, for w), then row-major over the top-left corner.
# The phrases count from 1.


FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Area:
    """A rectangle of memory items: its top-left corner (`top`, `left`) and its extent in items."""

    top: int
    left: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """The number of items in the area."""
        return self.height * self.width


@dataclass(frozen=True, slots=True)
class AreaGrid:
    """All areas of a `height` x `width` memory up to `max_height` x `max_width` items.

    Raises:
        ValueError: A size is below 1, or the largest area would exceed the memory.
    """

    height: int
    width: int
    max_height: int
    max_width: int

    def __post_init__(self) -> None:
        if min(self.height, self.width, self.max_height, self.max_width) < 1:
            raise ValueError(f"Memory and area sizes must be at least 1, got {self}.")
        if self.max_height > self.height or self.max_width > self.width:
            raise ValueError(
                f"The largest area is {self.max_height}x{self.max_width} but the memory only"
                f" has {self.height}x{self.width} items. Choose a smaller area size."
            )

    @classmethod
    def clamped(cls, shape: tuple[int, int], max_area: tuple[int, int]) -> AreaGrid:
        """Return the grid for a memory of `shape`, with the area size limited to the memory."""
        return cls(*shape, min(max_area[0], shape[0]), min(max_area[1], shape[1]))

    @property
    def items(self) -> int:
        """The number of items in the memory."""
        return self.height * self.width

    @property
    def count(self) -> int:
        """The number of areas: |R| = |Rv||Rh|, |Rh| = (L-S)S + S(S+1)/2 (Li et al. 2019)."""
        return _count_placements(self.height, self.max_height) * _count_placements(
            self.width, self.max_width
        )

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Yield every (height, width) that an area can have, in enumeration order."""
        for height in range(1, self.max_height + 1):
            for width in range(1, self.max_width + 1):
                yield height, width

    def slab(self, height: int, width: int) -> tuple[int, int, int]:
        """Locate the areas of one shape: (first index, rows of corners, columns of corners)."""
        rows, columns = self.height - height + 1, self.width - width + 1
        first = _count_placements(self.height, height - 1) * _count_placements(
            self.width, self.max_width
        )
        return first + rows * _count_placements(self.width, width - 1), rows, columns

    def index(self, area: Area) -> int:
        """Return the index of `area`, in constant time.

        Raises:
            ValueError: The area is not part of this grid.
        """
        fits = 1 <= area.height <= self.max_height and 1 <= area.width <= self.max_width
        first, rows, columns = self.slab(area.height, area.width)
        if not (fits and 0 <= area.top < rows and 0 <= area.left < columns):
            raise ValueError(f"{area} is not an area of {self}.")
        return first + area.top * columns + area.left

    def area(self, index: int) -> Area:
        """Return the area at `index`, in constant time and without a table.

        Raises:
            IndexError: The index is outside 0..count-1.
        """
        if not 0 <= index < self.count:
            raise IndexError(f"Area index {index} is outside 0..{self.count - 1}.")
        # Convert to int: a NumPy integer would end up in the Area, and JSON cannot serialise it.
        index = whole(index)
        row_areas = _count_placements(self.width, self.max_width)
        height = _find_extent(self.height, self.max_height, index // row_areas)
        index -= _count_placements(self.height, height - 1) * row_areas
        rows = self.height - height + 1
        width = _find_extent(self.width, self.max_width, index // rows)
        index -= rows * _count_placements(self.width, width - 1)
        return Area(*divmod(index, self.width - width + 1), height, width)

    def items_of(self, area: Area) -> tuple[int, ...]:
        """Return the indices of the items in an area, row by row."""
        rows = range(area.top, area.top + area.height)
        columns = range(area.left, area.left + area.width)
        return tuple(row * self.width + column for row in rows for column in columns)

    def table(self) -> IntArray:
        """Return every area as a row (top, left, height, width): int64 [count, 4]."""
        found_R4 = np.empty((self.count, 4), np.int64)
        for height, width in self.shapes():
            first, rows, columns = self.slab(height, width)
            slab_R4 = found_R4[first : first + rows * columns]
            slab_R4[:, 0], slab_R4[:, 1] = np.divmod(np.arange(rows * columns), columns)
            slab_R4[:, 2:] = height, width
        return found_R4

    def sizes(self) -> IntArray:
        """Return the number of items in each area: int64 [count]."""
        height_S, width_S = np.array(list(self.shapes())).T
        counts_S = (self.height - height_S + 1) * (self.width - width_S + 1)
        return np.repeat(height_S * width_S, counts_S)


def _count_placements(length: int, extent: int) -> int:
    """Return the number of runs of 1..extent items that fit in `length` items."""
    return extent * length - extent * (extent - 1) // 2


def _find_extent(length: int, max_extent: int, offset: int) -> int:
    """Return the extent whose placements contain `offset`.

    This inverts `_count_placements`, which is quadratic in the extent.
    """
    root = ((2 * length + 1) - isqrt((2 * length + 1) ** 2 - 8 * offset)) // 2
    extent = max(1, min(root + 1, max_extent))
    while _count_placements(length, extent - 1) > offset:
        extent -= 1
    while extent < max_extent and _count_placements(length, extent) <= offset:
        extent += 1
    return extent


def format_area(area: Area) -> str:
    """Describe an area of a picture's cells, such as "rows 2-3, columns 4-6"."""
    return f"{run_text('row', area.top, area.height)}, {run_text('column', area.left, area.width)}"


def format_span(area: Area) -> str:
    """Describe an area of a text's items, such as "item 3" or "items 3-5"."""
    return run_text("item", area.left, area.width)


def run_text(name: str, first: int, count: int) -> str:
    """Describe neighbouring rows, columns or items, such as "row 2" or "rows 2-3".

    Args:
        name: Singular noun for one neighbour, such as "row".
        first: Index of the first neighbour, counted from 0.
        count: Number of neighbours.
    """
    return f"{name} {first + 1}" if count == 1 else f"{name}s {first + 1}-{first + count}"


# The rivals of an area, which are the areas of a grid that overlap it too much.
#
# The overlap of two areas depends on their shapes and on the shift between them, never on their
# position in the memory. The rivals of every shape are therefore listed once, as shapes and shifts,
# and moved to each chosen area. For a grid with very many shapes (see `can_list`), comparing each
# chosen area with all areas is faster.
#
# Shapes: S shapes of areas (height, width) in the grid's order, J rivals of a shape, R chosen
# areas, V and H runs of neighbours along the vertical and the horizontal side.


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


# The algebra of areas on plain arrays of weights: top areas, coverage, sums and overlap.
#
# For an `AttentionMap`, use `areaviz.trace.query`. Weights are finite and 0 or more. NaN raises
# ValueError where weights are compared, and spreads to the sums that include it. Rows are processed
# a few at a time, so that they stay in the processor's cache.
#
# Shapes: R rows of weights (possibly with further axes before them), A areas, N items, K chosen
# areas, X positions along an axis.


Array = npt.NDArray[Any]
AnyFloats = npt.NDArray[np.floating]
AnyInts = npt.NDArray[np.integer]
# A function that removes, in each row of weights, the chosen area and all areas that overlap it too
# much.
Strike = Callable[[AnyFloats, IntArray], None]

# Areas whose intersection over union with a higher-ranked area exceeds this are left out.
MAX_OVERLAP = 0.5
# Number of array elements to process at a time, maximum number of threads, and minimum number of
# chunks per thread.
CHUNK, THREADS, CHUNKS_A_THREAD = 1 << 18, 4, 16


def apply_in_chunks(
    work: Callable[[Array], Array], rows: Array, width: int, dtype: npt.DTypeLike
) -> Array:
    """Apply `work` to a few rows at a time, in several threads if there are many rows.

    Args:
        work: Function that makes [R, width] from rows [R, X].
        rows: Array [..., X]. It is never copied as a whole, so it may be a view of something much
            smaller.
        width: Length of a result row.
        dtype: Type of the result.

    Returns:
        An array [..., width].
    """
    given = rows.reshape(-1, rows.shape[-1]) if rows.flags.c_contiguous or rows.ndim == 1 else rows
    made = np.empty((*given.shape[:-1], width), dtype)
    step = max(1, CHUNK // max(rows.shape[-1], width, 1))
    slices = [slice(start, start + step) for start in range(0, given.shape[-2], step)]
    places = [(*lead, some) for lead in np.ndindex(given.shape[:-2]) for some in slices]

    def fill(place: tuple[int | slice, ...]) -> None:
        made[place] = work(given[place])

    # NumPy releases the lock of the interpreter while it searches and adds.
    threads = min(THREADS, os.cpu_count() or 1, len(places) // CHUNKS_A_THREAD)
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, places))
    else:
        for place in places:
            fill(place)
    return made.reshape(*rows.shape[:-1], width)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The largest entries of every row in descending order. Ties are ordered by index.

    If fewer entries have a weight above 0, the rest have index -1 and weight 0.
    """

    # int64 [..., K]
    index: IntArray
    # float32 [..., K]
    weight: FloatArray


def rank_areas(
    weights_RA: AnyFloats,
    grid: AreaGrid,
    k: int,
    max_overlap: float = MAX_OVERLAP,
    min_size: int = 1,
) -> Ranked:
    """Return the k top areas of every row, without areas that overlap a higher-ranked one too much.

    Args:
        weights_RA: Weights of the grid's areas.
        grid: The areas.
        k: Number of areas, 0 or more.
        max_overlap: Leave out areas whose intersection over union with a higher-ranked area exceeds
            this, 0..1.
        min_size: Leave out areas with fewer items.

    Raises:
        ValueError: A weight is NaN.
    """
    if can_list(grid):
        strike = partial(_strike_rivals, find_rivals(grid, max_overlap))
    else:
        # Use int32 and column-major order for speed: every chosen area is compared with all areas.
        strike = partial(_strike_listed, np.asfortranarray(grid.table(), np.int32), max_overlap)
    left_out = np.flatnonzero(grid.sizes() < min_size) if min_size > 1 else None
    return _rank(weights_RA, k, strike, left_out)


def rank_listed(
    weights_RA: AnyFloats, areas_A4: IntArray, k: int, max_overlap: float = MAX_OVERLAP
) -> Ranked:
    """Return the k top areas of any list of areas (top, left, height, width), see `rank_areas`.

    Raises:
        ValueError: A weight is NaN.
    """
    return _rank(weights_RA, k, partial(_strike_listed, areas_A4, max_overlap))


def largest_entries(values_RN: AnyFloats, k: int) -> Ranked:
    """Return the k largest entries of every row, such as the queries that attend most to an item.

    Raises:
        ValueError: An entry is NaN.
    """
    return _rank(values_RN, k, _strike_chosen)


def sum_coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
    """Return the weight of all areas that contain each item: float32 [R, N].

    A row sums to the mean size of an attended area, not to 1 (Li et al. 2019, Eq. 4: sums).
    """
    return apply_in_chunks(
        partial(_compute_coverage, grid=grid), weights_RA, grid.items, np.float32
    )


def coverage_shares(covered_RN: FloatArray) -> FloatArray:
    """Return coverage with each row divided by its sum: float32 [R, N]. Rows of zeros stay 0."""
    total_R1 = covered_RN.sum(-1, keepdims=True)
    total_R1[total_R1 == 0] = 1
    shares_RN: FloatArray = covered_RN / total_R1
    return shares_RN


def area_sums(weights_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    """Return the sum of the items' weights in every area: float32 [R, A].

    This takes one addition per area.
    """
    return apply_in_chunks(
        partial(_compute_area_sums, grid=grid), weights_RN, grid.count, np.float32
    )


def divide_by_sums(rows: FloatArray) -> None:
    """Divide every row [..., A] by its sum, in place. Rows of zeros stay 0."""
    sums = rows.sum(-1, keepdims=True)
    np.divide(rows, sums, out=rows, where=sums > 0)


def iou(one_4: AnyInts, other_4: AnyInts) -> npt.NDArray[np.float64]:
    """Return the intersection over union, 0..1, of areas (top, left, height, width).

    The two arrays broadcast.
    """
    top, left, height, width = np.moveaxis(one_4, -1, 0)
    other_top, other_left, other_height, other_width = np.moveaxis(other_4, -1, 0)
    shared = _count_shared(top, height, other_top, other_height)
    shared = shared * _count_shared(left, width, other_left, other_width)
    found: npt.NDArray[np.float64] = shared / (height * width + other_height * other_width - shared)
    return found


def _count_shared(
    first: AnyInts, extent: AnyInts, other: AnyInts, other_extent: AnyInts
) -> AnyInts:
    """Return the number of positions that two runs along a side have in common."""
    last = np.minimum(first + extent, other + other_extent)
    shared: AnyInts = np.maximum(last - np.maximum(first, other), 0)
    return shared


def _rank(values_RA: AnyFloats, k: int, strike: Strike, left_out: IntArray | None = None) -> Ranked:
    """Take the largest entry of each row and remove its rivals, k times."""
    greedy = partial(_choose_greedily, k=k, strike=strike, left_out=left_out)
    index = apply_in_chunks(greedy, values_RA, k, np.int64)
    weight = np.take_along_axis(values_RA, np.maximum(index, 0), -1)
    return Ranked(index, np.where(index < 0, 0, weight).astype(np.float32))


def _choose_greedily(
    values_RA: AnyFloats, k: int, strike: Strike, left_out: IntArray | None
) -> IntArray:
    """Return the indices of the largest entries of a few rows: int64 [R, k], -1 for none."""
    left_RA = np.array(values_RA, np.result_type(values_RA, np.float32), order="C")
    if left_out is not None:
        left_RA[:, left_out] = -1
    rows = np.arange(len(left_RA))
    found_RK = np.full((len(left_RA), k), -1, np.int64)
    for turn in range(k):
        chosen_R = left_RA.argmax(1)
        largest_R = left_RA[rows, chosen_R]
        # argmax returns NaN first.
        if np.isnan(largest_R).any():
            raise ValueError("a weight is not a number")
        found_RK[:, turn] = np.where(largest_R > 0, chosen_R, -1)
        strike(left_RA, chosen_R)
    return found_RK


def _strike_rivals(rivals: Rivals, left_RA: AnyFloats, chosen_R: IntArray) -> None:
    starts_R1 = np.arange(0, left_RA.size, left_RA.shape[1])[:, None]
    left_RA.reshape(-1)[rivals.indices(chosen_R) + starts_R1] = -1


def _strike_listed(
    areas_A4: AnyInts, max_overlap: float, left_RA: AnyFloats, chosen_R: IntArray
) -> None:
    left_RA[iou(areas_A4[chosen_R][:, None], areas_A4) > max_overlap] = -1
    _strike_chosen(left_RA, chosen_R)


def _strike_chosen(left_RA: AnyFloats, chosen_R: IntArray) -> None:
    left_RA[np.arange(len(left_RA)), chosen_R] = -1


def _compute_coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
    """Spread areas over columns, then the strips of each height over rows."""
    strips = []
    for height in range(1, grid.max_height + 1):
        slabs = []
        for width in range(1, grid.max_width + 1):
            first, rows, columns = grid.slab(height, width)
            slabs.append(weights_RA[:, first : first + rows * columns].reshape(-1, rows, columns))
        strips.append(_spread_along_axis(slabs).swapaxes(1, 2))
    covered = strips[0] if grid.height == 1 else _spread_along_axis(strips)
    return covered.swapaxes(1, 2).reshape(-1, grid.items)


def _spread_along_axis(starts: Sequence[FloatArray]) -> FloatArray:
    """Sum, for every position on the last axis, the weights of the runs that contain it.

    Nothing is subtracted, so the sums lose no precision.

    Args:
        starts: For each extent 1..S, an array [..., X - extent + 1] of weights by first position.

    Returns:
        An array [..., X].
    """
    at_least, spread = np.zeros(starts[0].shape, np.float32), np.zeros(starts[0].shape, np.float32)
    # `at_least` holds all runs of this extent or more, because the loop starts with the longest.
    # These are exactly the runs that reach the position `extent - 1` after their first one.
    for extent in range(len(starts), 0, -1):
        places = starts[extent - 1].shape[-1]
        at_least[..., :places] += starts[extent - 1]
        spread[..., extent - 1 :] += at_least[..., :places]
    return spread


def _compute_area_sums(weights_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    """Sum each area incrementally: a row from a shorter row plus an item, an area from its rows."""
    items = tall = wide = weights_RN.reshape(-1, grid.height, grid.width)
    sums_RA: FloatArray = np.empty((len(weights_RN), grid.count), dtype=np.float32)
    for height, width in grid.shapes():
        if width > 1:
            wide = wide[..., :-1] + tall[..., width - 1 :]
        elif height > 1:
            wide = tall = tall[:, :-1] + items[:, height - 1 :]
        first, rows, columns = grid.slab(height, width)
        sums_RA[:, first : first + rows * columns] = wide.reshape(len(items), -1)
    return sums_RA


# The densest area: the smallest span or rectangle that holds a given share of a distribution.
#
# It is the highest-density region (Hyndman 1996) restricted to areas. Every head has one, including
# heads that attend to single items. Shares are first converted to whole numbers. Running sums and
# their differences are then exact, equal shares remain equal at every position, and ties are broken
# in the same way on every machine.
#
# Shapes: R rows of shares (possibly with further axes before them), N items in Y rows and X
# columns, P positions, M masses.


# Default share of the attention that a densest area holds.
MASS = 0.5
# Approximate sum of a row of shares as whole numbers.
SHARE_UNIT = 1 << 40
# Shares are rounded to float32, so an area may fall short of the mass by this share of the sum.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class SmallestAreas:
    """The densest area of every row, or (0, 0, 0, 0) with share 0 for a row of zeros."""

    # Top, left, height and width in items, int64 [..., 4].
    area: IntArray
    # Share that the area holds, 0..1, float32 [...].
    share: FloatArray


def find_smallest_areas(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, mass: float = MASS
) -> SmallestAreas:
    """Return the smallest area of every row that holds at least `mass` of the row's sum.

    Among areas of the same size, the one that holds most is returned. Remaining ties are resolved
    by the smallest height, then top, then left. The area may be larger than the largest area of the
    grid.

    Args:
        p_RN: Shares or coverage of the items, 0 or more. Each row is divided by its sum.
        grid: The rows and columns of the memory.
        mass: Share to hold, above 0 and at most 1.

    Raises:
        InputError: The mass is out of range.
        ValueError: A share is below 0 or not a number.
    """
    found = find_smallest_areas_of_masses(p_RN, grid, (mass,))
    return SmallestAreas(found.area[..., 0, :], found.share[..., 0])


def find_smallest_areas_of_masses(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, masses: Sequence[float]
) -> SmallestAreas:
    """Return the densest areas of every row at several masses, see `find_smallest_areas`.

    One search for all masses is several times faster than one search per mass.

    Args:
        p_RN: As in `find_smallest_areas`.
        grid: As in `find_smallest_areas`.
        masses: Shares to hold, each above 0 and at most 1.

    Returns:
        The areas [..., M, 4] and the shares that they hold [..., M].

    Raises:
        InputError: A mass is out of range.
        ValueError: A share is below 0 or not a number.
    """
    for mass in masses:
        if not 0 < mass <= 1:
            raise InputError(
                f"The mass of a densest area must be above 0 and at most 1 but is {mass}."
                " Give a share."
            )
    search = partial(_find_densest, grid=grid, masses=tuple(masses))
    found = apply_in_chunks(search, p_RN, 5 * len(masses), np.float64)
    found_RM5 = found.reshape(*found.shape[:-1], len(masses), 5)
    return SmallestAreas(found_RM5[..., :4].astype(np.int64), found_RM5[..., 4].astype(np.float32))


def _find_densest(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, masses: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    """Return top, left, height, width and share of a few rows at every mass: [R, M * 5]."""
    count = len(masses)
    # Each row is repeated once per mass.
    shares_RN = np.repeat(_to_whole_numbers(p_RN), count, 0)
    total_R = shares_RN.sum(1)
    need_R = np.tile(masses, len(p_RN)) * total_R - ROUNDING * total_R
    sums_RYX = _sum_running(shares_RN.reshape(-1, grid.height, grid.width))
    rows, best_R5 = np.arange(len(shares_RN)), np.zeros((len(shares_RN), 5), np.int64)
    best_size_R = np.full(len(shares_RN), grid.items + 1)
    for height in range(1, grid.height + 1):
        if (best_size_R < height).all():
            break
        strips_RYX = sums_RYX[:, height:] - sums_RYX[:, :-height]
        width_R = _find_narrowest(strips_RYX, need_R)
        held_RP = _sum_held(strips_RYX, width_R).reshape(len(rows), -1)
        place_R = held_RP.argmax(1)
        held_R, size_R = held_RP[rows, place_R], height * width_R
        top_R, left_R = np.divmod(place_R, grid.width)
        denser_R = (size_R < best_size_R) | ((size_R == best_size_R) & (held_R > best_R5[:, 4]))
        denser_R &= held_R >= need_R
        found_R5 = np.stack([top_R, left_R, np.full_like(top_R, height), width_R, held_R], 1)
        best_R5[denser_R], best_size_R[denser_R] = found_R5[denser_R], size_R[denser_R]
    best_R5[total_R == 0] = 0
    made_R5 = best_R5.astype(np.float64)
    made_R5[:, 4] /= np.maximum(total_R, 1)
    return made_R5.reshape(len(p_RN), count * 5)


def _to_whole_numbers(p_RN: npt.NDArray[np.floating]) -> IntArray:
    """Return shares as whole numbers that sum to about SHARE_UNIT in every row."""
    total_R1 = p_RN.sum(1, dtype=np.float64, keepdims=True)
    if not (np.isfinite(total_R1).all() and p_RN.min() >= 0):
        raise ValueError("A share is below 0 or not a finite number.")
    share_RN = np.divide(p_RN, total_R1, out=np.zeros(p_RN.shape), where=total_R1 > 0)
    whole_RN: IntArray = np.rint(share_RN * SHARE_UNIT).astype(np.int64)
    return whole_RN


def _sum_running(shares_RYX: IntArray) -> IntArray:
    """Return the sum of all items above and to the left of each corner: [R, Y + 1, X + 1]."""
    rows, height, width = shares_RYX.shape
    sums_RYX = np.zeros((rows, height + 1, width + 1), np.int64)
    sums_RYX[:, 1:, 1:] = shares_RYX.cumsum(1).cumsum(2)
    return sums_RYX


def _find_narrowest(strips_RYX: IntArray, need_R: npt.NDArray[np.float64]) -> IntArray:
    """Return the smallest width at which some area holds `need_R`, or the full width: [R]."""
    most = strips_RYX.shape[-1] - 1
    low_R, high_R = np.ones(len(strips_RYX), np.int64), np.full(len(strips_RYX), most)
    # The largest sum never falls as areas widen, so bisection finds the width.
    while (low_R < high_R).any():
        middle_R = (low_R + high_R) // 2
        enough_R = _sum_held(strips_RYX, middle_R).max((1, 2)) >= need_R
        high_R = np.where(enough_R, middle_R, high_R)
        low_R = np.minimum(np.where(enough_R, low_R, middle_R + 1), high_R)
    return high_R


def _sum_held(strips_RYX: IntArray, width_R: IntArray) -> IntArray:
    """Return the sum of the area of width `width_R` at every position: [R, Y, X].

    Areas are cut off at the right edge.
    """
    most = strips_RYX.shape[-1] - 1
    ends_RX = np.minimum(np.arange(most) + width_R[:, None], most)
    return np.take_along_axis(strips_RYX, ends_RX[:, None], 2) - strips_RYX[..., :-1]

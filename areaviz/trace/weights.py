"""The algebra of areas on plain arrays of weights: top areas, coverage, sums and overlap.

For an `AttentionMap`, use `areaviz.trace.query`. Weights are finite and 0 or more. NaN raises
ValueError where weights are compared, and spreads to the sums that include it. Rows are processed a
few at a time, so that they stay in the processor's cache.

Shapes: R rows of weights (possibly with further axes before them), A areas, N items, K chosen
areas, X positions along an axis.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.rivals import Rivals, can_list, find_rivals

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
    work: Callable[[Array], Array],
    rows: Array,
    width: int,
    dtype: npt.DTypeLike,
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


def top_areas(
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


def top_listed(
    weights_RA: AnyFloats,
    areas_A4: IntArray,
    k: int,
    max_overlap: float = MAX_OVERLAP,
) -> Ranked:
    """Return the k top areas of any list of areas (top, left, height, width), see `top_areas`.

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


def coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
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
    areas_A4: AnyInts,
    max_overlap: float,
    left_RA: AnyFloats,
    chosen_R: IntArray,
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

"""The algebra of areas: heaviest areas, coverage, sums and overlap, of weights in plain arrays.

Whoever has an `AttentionMap` asks through `areaviz.trace.query`. Weights are finite and 0 or more.
One that is not a number raises ValueError where weights are compared, and spreads to the sums it is
part of. Rows are worked on a few at a time, so that they stay in the processor's cache.

Shapes: R rows of weights (there may be further axes before them), A areas, N items, K chosen, X
places along an axis.
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
from areaviz.trace.rivals import Rivals, can_list, rivals_of

Array = npt.NDArray[Any]
AnyFloats = npt.NDArray[np.floating]
AnyInts = npt.NDArray[np.integer]
# Strikes out, in rows of weights, the area chosen of each row and all that overlap it too much.
Strike = Callable[[AnyFloats, IntArray], None]

# Areas that overlap a heavier one by more than this (intersection over union) are left out.
MAX_OVERLAP = 0.5
# Numbers worked on at a time; threads at most; and how many chunks make one worth its start.
CHUNK, THREADS, CHUNKS_A_THREAD = 1 << 18, 4, 16


def in_chunks(
    work: Callable[[Array], Array],
    rows: Array,
    width: int,
    dtype: npt.DTypeLike,
) -> Array:
    """What `work` makes of rows, a few at a time, in several threads where there are many.

    Args:
        work: makes [R, width] of R rows, [R, X].
        rows: [..., X]; never copied as a whole, so it may be a view of something much smaller.
        width: numbers made of a row.
        dtype: their type.

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

    # NumPy lets other threads run while it searches and adds.
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
    """The largest entries of every row, the largest first, of equal ones the one of lower index.

    Where nothing with any weight is left, the index is -1 and the weight 0.
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
    """The k heaviest areas of every row, leaving out those that overlap a heavier one too much.

    Args:
        weights_RA: of the grid's areas.
        grid: where they lie.
        k: how many areas, 0 or more.
        max_overlap: an area that overlaps a heavier one by more is left out; intersection over
            union, 0..1.
        min_size: areas of fewer items are left out.

    Raises:
        ValueError: a weight is not a number.
    """
    if can_list(grid):
        strike = partial(_strike_rivals, rivals_of(grid, max_overlap))
    else:
        # Half as wide and column by column: all of them are compared with every chosen area.
        strike = partial(_strike_listed, np.asfortranarray(grid.table(), np.int32), max_overlap)
    left_out = np.flatnonzero(grid.sizes() < min_size) if min_size > 1 else None
    return _ranked(weights_RA, k, strike, left_out)


def top_listed(
    weights_RA: AnyFloats,
    areas_A4: IntArray,
    k: int,
    max_overlap: float = MAX_OVERLAP,
) -> Ranked:
    """The same of any areas, given as (top, left, height, width).

    Raises:
        ValueError: a weight is not a number.
    """
    return _ranked(weights_RA, k, partial(_strike_listed, areas_A4, max_overlap))


def largest(values_RN: AnyFloats, k: int) -> Ranked:
    """The k largest entries of every row, such as the queries that attend most to an item.

    Raises:
        ValueError: an entry is not a number.
    """
    return _ranked(values_RN, k, _strike_chosen)


def coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
    """The weight of all areas that hold each item: float32 [R, N].

    A row sums to the mean size of an attended area, not to 1 (Li et al. 2019, Eq. 4: sums).
    """
    return in_chunks(partial(_coverage, grid=grid), weights_RA, grid.items, np.float32)


def shares(covered_RN: FloatArray) -> FloatArray:
    """Coverage with each row divided by its sum: float32 [R, N]; 0 where nothing is attended to."""
    total_R1 = covered_RN.sum(-1, keepdims=True)
    total_R1[total_R1 == 0] = 1
    shares_RN: FloatArray = covered_RN / total_R1
    return shares_RN


def area_sums(weights_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    """The sum of the items' weights in every area: float32 [R, A], one addition an area."""
    return in_chunks(partial(_area_sums, grid=grid), weights_RN, grid.count, np.float32)


def divide_by_sums(rows: FloatArray) -> None:
    """Divide every row [..., A] by its sum, in place; rows of nothing but 0 stay so."""
    sums = rows.sum(-1, keepdims=True)
    np.divide(rows, sums, out=rows, where=sums > 0)


def iou(one_4: AnyInts, other_4: AnyInts) -> npt.NDArray[np.float64]:
    """Intersection over union of areas (top, left, height, width), 0..1; they broadcast."""
    top, left, height, width = np.moveaxis(one_4, -1, 0)
    other_top, other_left, other_height, other_width = np.moveaxis(other_4, -1, 0)
    shared = _shared(top, height, other_top, other_height)
    shared = shared * _shared(left, width, other_left, other_width)
    found: npt.NDArray[np.float64] = shared / (height * width + other_height * other_width - shared)
    return found


def _shared(first: AnyInts, extent: AnyInts, other: AnyInts, other_extent: AnyInts) -> AnyInts:
    """How many places two runs along a side share."""
    last = np.minimum(first + extent, other + other_extent)
    shared: AnyInts = np.maximum(last - np.maximum(first, other), 0)
    return shared


def _ranked(
    values_RA: AnyFloats, k: int, strike: Strike, left_out: IntArray | None = None
) -> Ranked:
    """The largest entry of each row, then the largest that is not struck out, k times."""
    greedy = partial(_greedy, k=k, strike=strike, left_out=left_out)
    index = in_chunks(greedy, values_RA, k, np.int64)
    weight = np.take_along_axis(values_RA, np.maximum(index, 0), -1)
    return Ranked(index, np.where(index < 0, 0, weight).astype(np.float32))


def _greedy(values_RA: AnyFloats, k: int, strike: Strike, left_out: IntArray | None) -> IntArray:
    """The indices of the largest entries of a few rows: int64 [R, k], -1 where none is left."""
    left_RA = np.array(values_RA, np.result_type(values_RA, np.float32), order="C")
    if left_out is not None:
        left_RA[:, left_out] = -1
    rows = np.arange(len(left_RA))
    found_RK = np.full((len(left_RA), k), -1, np.int64)
    for turn in range(k):
        chosen_R = left_RA.argmax(1)
        largest_R = left_RA[rows, chosen_R]
        # argmax takes these first.
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


def _coverage(weights_RA: FloatArray, grid: AreaGrid) -> FloatArray:
    """Areas spread over columns, then the strips of each height over rows."""
    strips = []
    for height in range(1, grid.max_height + 1):
        slabs = []
        for width in range(1, grid.max_width + 1):
            first, rows, columns = grid.slab(height, width)
            slabs.append(weights_RA[:, first : first + rows * columns].reshape(-1, rows, columns))
        strips.append(_spread(slabs).swapaxes(1, 2))
    covered = strips[0] if grid.height == 1 else _spread(strips)
    return covered.swapaxes(1, 2).reshape(-1, grid.items)


def _spread(starts: Sequence[FloatArray]) -> FloatArray:
    """Give every place on the last axis the weights of the runs that hold it, without subtracting.

    Args:
        starts: for extents 1..S an array [..., X - extent + 1] of weights by first place.

    Returns:
        An array [..., X].
    """
    at_least, spread = np.zeros(starts[0].shape, np.float32), np.zeros(starts[0].shape, np.float32)
    # Walking down from the longest runs, `at_least` holds all runs of this extent or more: these,
    # and only these, reach the place `extent - 1` after their first.
    for extent in range(len(starts), 0, -1):
        places = starts[extent - 1].shape[-1]
        at_least[..., :places] += starts[extent - 1]
        spread[..., extent - 1 :] += at_least[..., :places]
    return spread


def _area_sums(weights_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    """An area is one that is a row shorter plus a row; a row is a shorter one plus an item."""
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

"""The densest area: the smallest span or rectangle that holds a given share of a distribution.

It is the highest-density region (Hyndman 1996) restricted to areas. Every head has one, including
heads that attend to single items. Shares are first converted to whole numbers. Running sums and
their differences are then exact, equal shares remain equal at every position, and ties are broken
in the same way on every machine.

Shapes: R rows of shares (possibly with further axes before them), N items in Y rows and X columns,
P positions, M masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.weights import apply_in_chunks

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


def densest_areas(
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
    found = densest_areas_of_masses(p_RN, grid, (mass,))
    return SmallestAreas(found.area[..., 0, :], found.share[..., 0])


def densest_areas_of_masses(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, masses: Sequence[float]
) -> SmallestAreas:
    """Return the densest areas of every row at several masses, see `densest_areas`.

    One search for all masses is several times faster than one search per mass.

    Args:
        p_RN: As in `densest_areas`.
        grid: As in `densest_areas`.
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

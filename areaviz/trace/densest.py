"""The densest area: the smallest span or rectangle that holds a given share of a distribution.

It is the highest-density region (Hyndman 1996) restricted to areas, and any head has one, also a
head that attends to single items. Shares become whole numbers first, so that running sums and their
differences are exact, equal shares stay equal wherever they lie, and ties are broken in the same
way on every machine.

Shapes: R rows of shares (there may be further axes before them), N items in Y rows and X columns, P
places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.weights import in_chunks

# The share that a densest area holds, where nobody asks for another.
MASS = 0.5
# A row's shares as whole numbers sum to about this.
UNIT = 1 << 40
# Shares are rounded to float32, so an area that lacks this little holds the mass.
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Densest:
    """The densest area of every row; (0, 0, 0, 0), with a share of 0, where nothing has any."""

    # Top, left, height and width in items, int64 [..., 4].
    area: IntArray
    # What it holds, 0..1, float32 [...].
    share: FloatArray


def densest_areas(p_RN: npt.NDArray[np.floating], grid: AreaGrid, mass: float = MASS) -> Densest:
    """Return the smallest area of every row that holds at least `mass` of it.

    Of equally small ones it is the one that holds most; of these the one that comes first by
    height, then top, then left. It may be larger than the largest area of the grid.

    Args:
        p_RN: shares or coverage of the items, 0 or more; each row is divided by its sum.
        grid: the rows and columns of the memory.
        mass: above 0, at most 1.

    Raises:
        InputError: the mass is out of range.
        ValueError: a share is below 0 or not a number.
    """
    found = densest_areas_of_masses(p_RN, grid, (mass,))
    return Densest(found.area[..., 0, :], found.share[..., 0])


def densest_areas_of_masses(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, masses: Sequence[float]
) -> Densest:
    """Return the densest areas of every row at several masses, see `densest_areas`.

    One search for all masses is several times faster than one search for each.

    Args:
        p_RN: as in `densest_areas`.
        grid: as in `densest_areas`.
        masses: above 0, at most 1.

    Returns:
        The areas, [..., M, 4], and what they hold, [..., M].

    Raises:
        InputError: a mass is out of range.
        ValueError: a share is below 0 or not a number.
    """
    for mass in masses:
        if not 0 < mass <= 1:
            raise InputError(
                f"The mass of a densest area must be above 0 and at most 1 but is {mass}; give a"
                " share."
            )
    search = partial(_densest, grid=grid, masses=tuple(masses))
    found = in_chunks(search, p_RN, 5 * len(masses), np.float64)
    found_RM5 = found.reshape(*found.shape[:-1], len(masses), 5)
    return Densest(found_RM5[..., :4].astype(np.int64), found_RM5[..., 4].astype(np.float32))


def _densest(
    p_RN: npt.NDArray[np.floating], grid: AreaGrid, masses: tuple[float, ...]
) -> npt.NDArray[np.float64]:
    """Return top, left, height, width and share of a few rows at every mass: [R, M * 5]."""
    count = len(masses)
    # A copy of every row for each mass.
    shares_RN = np.repeat(_whole(p_RN), count, 0)
    total_R = shares_RN.sum(1)
    need_R = np.tile(masses, len(p_RN)) * total_R - ROUNDING * total_R
    sums_RYX = _running(shares_RN.reshape(-1, grid.height, grid.width))
    rows, best_R5 = np.arange(len(shares_RN)), np.zeros((len(shares_RN), 5), np.int64)
    best_size_R = np.full(len(shares_RN), grid.items + 1)
    for height in range(1, grid.height + 1):
        if (best_size_R < height).all():
            break
        strips_RYX = sums_RYX[:, height:] - sums_RYX[:, :-height]
        width_R = _narrowest(strips_RYX, need_R)
        held_RP = _held(strips_RYX, width_R).reshape(len(rows), -1)
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


def _whole(p_RN: npt.NDArray[np.floating]) -> IntArray:
    """Shares as whole numbers that sum to about UNIT in every row."""
    total_R1 = p_RN.sum(1, dtype=np.float64, keepdims=True)
    if not (np.isfinite(total_R1).all() and p_RN.min() >= 0):
        raise ValueError("A share is below 0 or not a finite number.")
    share_RN = np.divide(p_RN, total_R1, out=np.zeros(p_RN.shape), where=total_R1 > 0)
    whole_RN: IntArray = np.rint(share_RN * UNIT).astype(np.int64)
    return whole_RN


def _running(shares_RYX: IntArray) -> IntArray:
    """The sum of all items above and left of each corner of the cells: [R, Y + 1, X + 1]."""
    rows, height, width = shares_RYX.shape
    sums_RYX = np.zeros((rows, height + 1, width + 1), np.int64)
    sums_RYX[:, 1:, 1:] = shares_RYX.cumsum(1).cumsum(2)
    return sums_RYX


def _narrowest(strips_RYX: IntArray, need_R: npt.NDArray[np.float64]) -> IntArray:
    """The smallest width whose best place holds what is needed, else the whole width: [R]."""
    most = strips_RYX.shape[-1] - 1
    low_R, high_R = np.ones(len(strips_RYX), np.int64), np.full(len(strips_RYX), most)
    # What the best place holds never falls as areas widen, so halving finds the width.
    while (low_R < high_R).any():
        middle_R = (low_R + high_R) // 2
        enough_R = _held(strips_RYX, middle_R).max((1, 2)) >= need_R
        high_R = np.where(enough_R, middle_R, high_R)
        low_R = np.minimum(np.where(enough_R, low_R, middle_R + 1), high_R)
    return high_R


def _held(strips_RYX: IntArray, width_R: IntArray) -> IntArray:
    """What areas of a width hold at every place, cut off at the right edge: [R, Y, X]."""
    most = strips_RYX.shape[-1] - 1
    ends_RX = np.minimum(np.arange(most) + width_R[:, None], most)
    return np.take_along_axis(strips_RYX, ends_RX[:, None], 2) - strips_RYX[..., :-1]

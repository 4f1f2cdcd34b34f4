"""How a spatial transformer reads one pixel: between four pixels of the picture (Jaderberg et al.
2015, equation 5).

Places are (x, y) in pixels of the picture from its outer left top corner, so the first pixel's
middle is (0.5, 0.5).
Shapes: S side of the output, P places, H, W of the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from areaviz.drawing.pictures import Pixels
from areaviz.trace.record import FloatArray


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of the four pixels: its column and row (0-based), grey value (0 outside the picture) and
    weight, 0..1.
    """

    column: int
    row: int
    value: float
    weight: float

    @property
    def product(self) -> float:
        """What it adds."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Sample:
    """One pixel of the output (row, column, 0-based), its place in the picture, and the pixels
    around that.
    """

    row: int
    column: int
    x: float
    y: float
    neighbours: tuple[Neighbour, ...]

    @property
    def total(self) -> float:
        """The weighted sum of the neighbours' values, 0..255."""
        return sum(neighbour.product for neighbour in self.neighbours)


def places(corners_42: FloatArray, side: int, pixels_P2: npt.ArrayLike) -> FloatArray:
    """Where output pixels (row, column) of a `side` x `side` output lie in the picture: float32 [P,
    2] as (x, y).
    """
    first, right, down = corners_42[0], corners_42[1] - corners_42[0], corners_42[3] - corners_42[0]
    share_P2 = (np.asarray(pixels_P2) + 0.5) / side
    found: FloatArray = (first + share_P2[:, 1:] * right + share_P2[:, :1] * down).astype(
        np.float32
    )
    return found


def sample(picture_HWC: Pixels, corners_42: FloatArray, side: int, index: int) -> Sample:
    """How output pixel `index`, counted row by row, is read; a pixel's value is the mean of red,
    green and blue.
    """
    row, column = divmod(index, side)
    x, y = map(float, places(corners_42, side, [(row, column)])[0])
    left, top = floor(x - 0.5), floor(y - 0.5)
    across, down = x - 0.5 - left, y - 0.5 - top
    steps = ((0, 0), (0, 1), (1, 0), (1, 1))
    shares = [
        ((1 - across, across)[dx] * (1 - down, down)[dy], left + dx, top + dy) for dy, dx in steps
    ]
    found = tuple(Neighbour(c, r, _grey(picture_HWC, r, c), weight) for weight, c, r in shares)
    return Sample(row, column, x, y, found)


def _grey(picture_HWC: Pixels, row: int, column: int) -> float:
    height, width = picture_HWC.shape[:2]
    return (
        float(picture_HWC[row, column].mean()) if 0 <= row < height and 0 <= column < width else 0.0
    )

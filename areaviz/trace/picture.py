"""The picture of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.medium import Medium

# The maximum side of a request's picture in pixels. Larger pictures are reduced beforehand.
MAX_SIDE = 640


@dataclass(frozen=True, slots=True)
class Picture(Medium):
    """A picture as uint8 pixels with three colours."""

    noun = "picture"
    dtype = np.uint8
    sizes = ("height", "width")

    # Size in pixels, 1..640.
    width: int
    height: int
    # Red, green and blue bytes, row by row.
    rgb: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.uint8]) -> Self:
        """Create a picture from uint8 pixels [H, W, 3]."""
        height, width = array.shape[:2]
        return cls(name, width, height, np.ascontiguousarray(array).tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the pixels."""
        return self.rgb

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [H, W, 3], read-only."""
        return self.array

    def check(self) -> None:
        """Check a picture, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, a side is outside 1..640 pixels, or
                pixels are missing.
        """
        Medium.check(self)
        if not (1 <= self.width <= MAX_SIDE and 1 <= self.height <= MAX_SIDE):
            raise InputError(
                f"The picture has {self.width:,} x {self.height:,} pixels, but each side may"
                f" have at most {MAX_SIDE}. Make it smaller."
            )
        if len(self.rgb) != self.width * self.height * 3:
            raise InputError(
                "The picture's pixels do not fit its size. Choose or upload the picture again."
            )

    def _described(self) -> bytes:
        return b"%d x %d " % (self.width, self.height)


def check_pixels(shape_HWC: Sequence[int], dtype: npt.DTypeLike) -> None:
    """Check the pixels of a picture by their shape and type alone.

    Raises:
        InputError: The pixels are not uint8 [height, width, 3] with sides of 1 to 640.
    """
    fits = len(shape_HWC) == 3 and shape_HWC[2] == 3
    if not fits or not 1 <= min(shape_HWC) <= max(shape_HWC) <= MAX_SIDE or dtype != np.uint8:
        raise InputError(
            f"The picture has the shape {' x '.join(map(str, shape_HWC))} and the type"
            f" {np.dtype(dtype)} but must be height x width x 3 bytes (uint8) with sides of 1 to"
            f" {MAX_SIDE}. Convert it."
        )

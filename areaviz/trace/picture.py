"""The picture of a request, in plain bytes, so that requests can be compared, cached and sent."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

# The maximum side of a request's picture in pixels. Larger pictures are reduced beforehand.
MAX_SIDE = 640

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as bytes."""

    # The name of the picture in links.
    name: str
    # Size in pixels, 1..640.
    width: int
    height: int
    # Red, green and blue bytes, row by row.
    rgb: bytes

    @classmethod
    def of(cls, name: str, pixels_HWC: npt.NDArray[np.uint8]) -> Self:
        """Create a picture from uint8 pixels [H, W, 3]."""
        height, width = pixels_HWC.shape[:2]
        return cls(name, width, height, np.ascontiguousarray(pixels_HWC).tobytes())

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [H, W, 3], read-only."""
        return np.frombuffer(self.rgb, np.uint8).reshape(self.height, self.width, 3)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the content of the picture."""
        return hashlib.sha256(b"%d x %d " % (self.width, self.height) + self.rgb).hexdigest()[:12]


def check_picture(picture: Picture) -> None:
    """Check a picture, which may be untrusted.

    Raises:
        InputError: The name cannot be part of a link, a side is outside 1..640 pixels, or pixels
            are missing.
    """
    if not NAME.fullmatch(picture.name):
        raise InputError(
            "The picture's name has signs a link cannot carry; choose or upload the picture again."
        )
    if not (1 <= picture.width <= MAX_SIDE and 1 <= picture.height <= MAX_SIDE):
        raise InputError(
            f"The picture has {picture.width:,} x {picture.height:,} pixels but sides of 1 to"
            f" {MAX_SIDE} are possible; make it smaller."
        )
    if len(picture.rgb) != picture.width * picture.height * 3:
        raise InputError(
            "The picture's pixels do not fit its size; choose or upload the picture again."
        )


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
            f" {MAX_SIDE}; convert it."
        )

"""The picture of a request: plain bytes, so that requests can be compared, remembered and sent."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

MAX_SIDE = 640
"""The longest side a request's picture has, in pixels; larger ones are made smaller before."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


@dataclass(frozen=True, slots=True)
class Picture:
    """name: what a link calls it. width, height: in pixels, 1..640. rgb: red, green, blue, row by
    row.
    """

    name: str
    width: int
    height: int
    rgb: bytes

    @classmethod
    def of(cls, name: str, pixels_HWC: npt.NDArray[np.uint8]) -> Self:
        """From uint8 pixels [H, W, 3]."""
        height, width = pixels_HWC.shape[:2]
        return cls(name, width, height, np.ascontiguousarray(pixels_HWC).tobytes())

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """uint8 [H, W, 3], read-only."""
        return np.frombuffer(self.rgb, np.uint8).reshape(self.height, self.width, 3)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell pictures apart."""
        return hashlib.sha256(b"%d x %d " % (self.width, self.height) + self.rgb).hexdigest()[:12]


def check_picture(picture: Picture) -> None:
    """Check a picture that may come from a stranger.

    Raises:
        InputError: its name cannot stand in a link, a side is outside 1..640 pixels, or pixels are
            missing.
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

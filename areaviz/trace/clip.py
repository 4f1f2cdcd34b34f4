"""The clip of a request: plain bytes, so that requests can be compared, remembered and sent.

Shapes: F frames, H, W of a frame in pixels.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.picture import NAME

FRAMES = (2, 32)
"""The fewest and the most frames of a request's clip; of longer ones so many are taken before."""
MAX_SIDE = 128
"""The longest side of a frame in pixels; larger ones are made smaller before."""
MILLISECONDS = (10, 10_000)
"""How long a frame stays."""


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames of one size, one after the other."""

    # What a link calls it.
    name: str
    frames: int
    # In pixels, 1..128.
    width: int
    height: int
    # How long each frame stays.
    milliseconds: int
    # Red, green, blue, row by row, frame by frame.
    rgb: bytes

    @classmethod
    def of(cls, name: str, pixels_FHWC: npt.NDArray[np.uint8], milliseconds: int = 120) -> Self:
        """From uint8 pixels [F, H, W, 3]."""
        frames, height, width = pixels_FHWC.shape[:3]
        content = np.ascontiguousarray(pixels_FHWC).tobytes()
        return cls(name, frames, width, height, milliseconds, content)

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """uint8 [F, H, W, 3], read-only."""
        return np.frombuffer(self.rgb, np.uint8).reshape(self.frames, self.height, self.width, 3)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that tell clips apart."""
        size = b"%d x %d x %d, %d " % (self.frames, self.width, self.height, self.milliseconds)
        return hashlib.sha256(size + self.rgb).hexdigest()[:12]


def check_clip(clip: Clip) -> None:
    """Check a clip that may come from a stranger.

    Raises:
        InputError: its name cannot stand in a link, it has fewer than 2 or more than 32 frames, a
            side is outside 1..128 pixels, a frame stays shorter than 10 or longer than 10,000
            milliseconds, or pixels are missing.
    """
    if not NAME.fullmatch(clip.name):
        raise InputError(
            "The clip's name has signs a link cannot carry; choose or upload the clip again."
        )
    if not FRAMES[0] <= clip.frames <= FRAMES[1]:
        raise InputError(
            f"The clip has {clip.frames:,} frames but {FRAMES[0]} to {FRAMES[1]} are possible;"
            " choose another one."
        )
    if not (1 <= clip.width <= MAX_SIDE and 1 <= clip.height <= MAX_SIDE):
        raise InputError(
            f"The clip has {clip.width:,} x {clip.height:,} pixels but sides of 1 to {MAX_SIDE}"
            " are possible; make it smaller."
        )
    if not MILLISECONDS[0] <= clip.milliseconds <= MILLISECONDS[1]:
        raise InputError(
            f"A frame of the clip stays {clip.milliseconds:,} milliseconds but {MILLISECONDS[0]} to"
            f" {MILLISECONDS[1]:,} are possible; choose another one."
        )
    if len(clip.rgb) != clip.frames * clip.width * clip.height * 3:
        raise InputError("The clip's pixels do not fit its size; choose or upload the clip again.")

"""The clip of a request, in plain bytes, so that requests can be compared, cached and sent.

Shapes: F frames, each of height H and width W in pixels.
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
"""The minimum and maximum number of frames in a clip. Longer clips are sampled beforehand."""
MAX_SIDE = 128
"""The maximum side of a frame in pixels. Larger frames are reduced beforehand."""
MILLISECONDS = (10, 10_000)
"""The minimum and maximum duration of a frame in milliseconds."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A sequence of frames of one size."""

    # The name of the clip in links.
    name: str
    frames: int
    # Size of a frame in pixels, 1..128.
    width: int
    height: int
    # Duration of each frame.
    milliseconds: int
    # Red, green and blue bytes, row by row and frame by frame.
    rgb: bytes

    @classmethod
    def of(cls, name: str, pixels_FHWC: npt.NDArray[np.uint8], milliseconds: int = 120) -> Self:
        """Create a clip from uint8 pixels [F, H, W, 3]."""
        frames, height, width = pixels_FHWC.shape[:3]
        content = np.ascontiguousarray(pixels_FHWC).tobytes()
        return cls(name, frames, width, height, milliseconds, content)

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [F, H, W, 3], read-only."""
        return np.frombuffer(self.rgb, np.uint8).reshape(self.frames, self.height, self.width, 3)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the content of the clip."""
        size = b"%d x %d x %d, %d " % (self.frames, self.width, self.height, self.milliseconds)
        return hashlib.sha256(size + self.rgb).hexdigest()[:12]


def check_clip(clip: Clip) -> None:
    """Check a clip, which may be untrusted.

    Raises:
        InputError: The name cannot be part of a link, the clip has fewer than 2 or more than 32
            frames, a side is outside 1..128 pixels, a frame lasts less than 10 or more than 10,000
            milliseconds, or pixels are missing.
    """
    if not NAME.fullmatch(clip.name):
        raise InputError(
            "The clip's name has characters that a link cannot contain; choose or upload the clip"
            " again."
        )
    if not FRAMES[0] <= clip.frames <= FRAMES[1]:
        raise InputError(
            f"The clip has {clip.frames:,} frames but {FRAMES[0]} to {FRAMES[1]} are possible;"
            " choose another one."
        )
    if not (1 <= clip.width <= MAX_SIDE and 1 <= clip.height <= MAX_SIDE):
        raise InputError(
            f"The clip has {clip.width:,} x {clip.height:,} pixels but each side must have 1 to"
            f" {MAX_SIDE}; make it smaller."
        )
    if not MILLISECONDS[0] <= clip.milliseconds <= MILLISECONDS[1]:
        raise InputError(
            f"A frame of the clip lasts {clip.milliseconds:,} milliseconds but {MILLISECONDS[0]} to"
            f" {MILLISECONDS[1]:,} are possible; choose another one."
        )
    if len(clip.rgb) != clip.frames * clip.width * clip.height * 3:
        raise InputError("The clip's pixels do not fit its size; choose or upload the clip again.")

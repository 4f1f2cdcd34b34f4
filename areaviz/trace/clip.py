"""The clip of a request.

Shapes: F frames, each of height H and width W in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.medium import Medium, take

FRAMES = (2, 32)
"""The minimum and maximum number of frames in a clip. Longer clips are sampled beforehand."""
MAX_SIDE = 128
"""The maximum side of a frame in pixels. Larger frames are reduced beforehand."""
MILLISECONDS = (10, 10_000)
"""The minimum and maximum duration of a frame in milliseconds."""


@dataclass(frozen=True, slots=True)
class Clip(Medium):
    """A sequence of frames of one size."""

    noun = "clip"
    dtype = np.uint8
    sizes = ("frames", "height", "width")

    frames: int
    # Size of a frame in pixels, 1..128.
    width: int
    height: int
    # Duration of each frame.
    milliseconds: int
    # Red, green and blue bytes, row by row and frame by frame.
    rgb: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.uint8], milliseconds: int = 120) -> Self:
        """Create a clip from uint8 pixels [F, H, W, 3]."""
        frames, height, width = array.shape[:3]
        return cls(name, frames, width, height, milliseconds, np.ascontiguousarray(array).tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the pixels."""
        return self.rgb

    @property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels: uint8 [F, H, W, 3], read-only."""
        return self.array

    @property
    def entry(self) -> Any:
        """The name and the duration of a frame, as JSON."""
        return {"name": self.name, "milliseconds": self.milliseconds}

    def check(self) -> None:
        """Check a clip, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, the clip has fewer than 2 or more than 32
                frames, a side is outside 1..128 pixels, a frame lasts less than 10 or more than
                10,000 milliseconds, or pixels are missing.
        """
        Medium.check(self)
        if not FRAMES[0] <= self.frames <= FRAMES[1]:
            raise InputError(
                f"The clip has {self.frames:,} frames, but {FRAMES[0]} to {FRAMES[1]} are allowed."
                " Choose another one."
            )
        if not (1 <= self.width <= MAX_SIDE and 1 <= self.height <= MAX_SIDE):
            raise InputError(
                f"The clip has {self.width:,} x {self.height:,} pixels, but each side may have at"
                " most"
                f" {MAX_SIDE}. Make it smaller."
            )
        if not MILLISECONDS[0] <= self.milliseconds <= MILLISECONDS[1]:
            raise InputError(
                f"A frame of the clip lasts {self.milliseconds:,} milliseconds, but"
                f" {MILLISECONDS[0]} to {MILLISECONDS[1]:,} are allowed. Choose another one."
            )
        if len(self.rgb) != self.frames * self.width * self.height * 3:
            raise InputError(
                "The clip's pixels do not fit its size. Choose or upload the clip again."
            )

    @classmethod
    def _of_entry(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        return cls.of(take(entry, "name", str), array, take(entry, "milliseconds", int))

    def _described(self) -> bytes:
        return b"%d x %d x %d, %d " % (self.frames, self.width, self.height, self.milliseconds)

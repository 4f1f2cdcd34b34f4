"""The sound of a request.

Shapes: S samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.medium import Medium

RATE = 8000
"""Samples per second. Other recordings are resampled beforehand."""
SECONDS = (0.1, 20.0)
"""The minimum and maximum duration of a sound in seconds."""


@dataclass(frozen=True, slots=True)
class Sound(Medium):
    """A recording with one channel, at `RATE`."""

    noun = "sound"
    dtype = np.int16
    sizes = ()

    # Samples as signed 16-bit numbers, little-endian.
    pcm: bytes

    @classmethod
    def of(cls, name: str, array: npt.NDArray[np.int16]) -> Self:
        """Create a sound from int16 samples [S]."""
        return cls(name, np.ascontiguousarray(array, dtype="<i2").tobytes())

    @property
    def content(self) -> bytes:
        """The bytes of the samples."""
        return self.pcm

    @property
    def samples(self) -> npt.NDArray[np.int16]:
        """The samples: int16 [S], read-only."""
        return self.array

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.pcm) / 2 / RATE

    def check(self) -> None:
        """Check a sound, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, the last sample is incomplete, or the
                sound is shorter than a tenth of a second or longer than 20 seconds.
        """
        Medium.check(self)
        if len(self.pcm) % 2:
            raise InputError("The sound ends in the middle of a sample. Choose or upload it again.")
        if not SECONDS[0] <= self.seconds <= SECONDS[1]:
            raise InputError(
                f"The sound is {self.seconds:,.1f} seconds long, but {SECONDS[0]:g} to"
                f" {SECONDS[1]:g} seconds are allowed. Trim it."
            )

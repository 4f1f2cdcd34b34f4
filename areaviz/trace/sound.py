"""The sound of a request, in plain bytes, so that requests can be compared, cached and sent.

Shapes: S samples.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError
from areaviz.trace.picture import NAME

RATE = 8000
"""Samples per second. Other recordings are resampled beforehand."""
SECONDS = (0.1, 20.0)
"""The minimum and maximum duration of a sound in seconds."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A recording with one channel, at `RATE`."""

    # The name of the sound in links.
    name: str
    # Samples as signed 16-bit numbers, little-endian.
    pcm: bytes

    @classmethod
    def of(cls, name: str, samples_S: npt.NDArray[np.int16]) -> Self:
        """Create a sound from int16 samples [S]."""
        return cls(name, np.ascontiguousarray(samples_S, dtype="<i2").tobytes())

    @property
    def samples(self) -> npt.NDArray[np.int16]:
        """The samples: int16 [S], read-only."""
        return np.frombuffer(self.pcm, "<i2")

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.pcm) / 2 / RATE

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the content of the sound."""
        return hashlib.sha256(self.pcm).hexdigest()[:12]


def check_sound(sound: Sound) -> None:
    """Check a sound, which may be untrusted.

    Raises:
        InputError: The name cannot be part of a link, the last sample is incomplete, or the sound
            is shorter than a tenth of a second or longer than 20 seconds.
    """
    if not NAME.fullmatch(sound.name):
        raise InputError(
            "The sound's name has signs a link cannot carry; choose or upload the sound again."
        )
    if len(sound.pcm) % 2:
        raise InputError("The sound ends within a sample; choose or upload it again.")
    if not SECONDS[0] <= sound.seconds <= SECONDS[1]:
        raise InputError(
            f"The sound is {sound.seconds:,.1f} seconds long, but {SECONDS[0]:g} to {SECONDS[1]:g}"
            " are possible; cut it."
        )

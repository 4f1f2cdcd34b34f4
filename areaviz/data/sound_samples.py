"""The app's own recordings of digits, spoken by the program espeak-ng.

No copyright restricts their use. Training uses none of these voices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from areaviz.data.paths import ASSETS
from areaviz.media.sounds import decode_sound
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.request import Sound


@dataclass(frozen=True, slots=True)
class SoundSample:
    """A recording of digits."""

    title: str
    # The digits that are spoken.
    text: str
    # Start and end of each digit in seconds.
    starts: tuple[float, ...]
    ends: tuple[float, ...]

    @property
    def spoken(self) -> str:
        """Start and end of each digit in seconds, in the format of a trace's details."""
        pairs = zip(self.starts, self.ends, strict=True)
        return " ".join(f"{start:g} {end:g}" for start, end in pairs)


SAMPLES: Mapping[str, SoundSample] = {
    "digits-plain": SoundSample(
        "Seven digits, a man's voice: 3 1 4 1 5 9 2",
        "3141592",
        (0.08, 0.58, 1.18, 1.78, 2.30, 2.92, 3.60),
        (0.49, 1.05, 1.66, 2.25, 2.86, 3.48, 3.96),
    ),
    "digits-repeats": SoundSample(
        "Runs of the same digit, a woman's voice: 7 7 7 2 2 9 9 9",
        "77722999",
        (0.08, 0.73, 1.39, 2.00, 2.41, 2.82, 3.39, 3.98),
        (0.61, 1.27, 1.92, 2.35, 2.76, 3.33, 3.90, 4.49),
    ),
    "digits-long": SoundSample(
        "Longer than any string of training: 5 5 5 0 0 0 1 1 1 2 2 2 4 4",
        "55500011122244",
        (0.08, 0.74, 1.44, 2.13, 2.85, 3.61, 4.29, 4.82, 5.40, 5.92, 6.39, 6.92, 7.44, 8.06),
        (0.65, 1.30, 2.01, 2.75, 3.48, 4.24, 4.77, 5.30, 5.88, 6.36, 6.83, 7.35, 7.92, 8.55),
    ),
    "digits-fast": SoundSample(
        "Four digits, spoken fast: 8 0 6 4",
        "8064",
        (0.08, 0.41, 0.87, 1.28),
        (0.33, 0.79, 1.23, 1.60),
    ),
}


@lru_cache(maxsize=8)
def get_sound_sample(name: str) -> Sound:
    """Return a recording by its name.

    Raises:
        InputError: There is no recording of this name.
        BackendError: Its file is missing or damaged.
    """
    if name not in SAMPLES:
        raise InputError(
            f'Recording "{shorten(name)}" does not exist. Choose one of: {", ".join(SAMPLES)}.'
        )
    try:
        content = (ASSETS / "sounds" / f"{name}.flac").read_bytes()
        return Sound(name, decode_sound(content).sound.pcm)
    except (OSError, InputError) as error:
        raise BackendError(
            f"The recording {name} cannot be read. Install the app again."
        ) from error

"""Sounds as a listener was trained on them: equally loud, at one rate, over a faint noise.

Shapes: S samples.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from areaviz.trace.sound import RATE

FloatArray = npt.NDArray[np.float32]

LOUDNESS = 0.1
"""The root of the mean square of what is said."""
NOISE = 0.001
"""The standard deviation of the noise under every string of digits that is trained on."""
_WINDOW = 200
"""Samples over which it is decided whether anything is said."""


def levelled(samples_S: npt.NDArray[np.int16]) -> FloatArray:
    """Samples as numbers from -1 to 1 with one loudness; speakers differ in it by a factor of 8."""
    as_numbers = samples_S.astype(np.float32) / 32768
    loudness = float(np.sqrt(np.mean(as_numbers**2)))
    return np.clip(as_numbers * (LOUDNESS / max(loudness, 1e-5)), -1.0, 1.0)


def as_trained(samples_S: npt.NDArray[np.int16]) -> FloatArray:
    """A sound as strings of digits are in training: what is said is as loud, silence has a noise.

    What is less loud than a tenth of the loudest is not said, and does not count for the loudness.
    """
    as_numbers = samples_S.astype(np.float32) / 32768
    whole = as_numbers[: len(as_numbers) // _WINDOW * _WINDOW].reshape(-1, _WINDOW)
    loud = np.sqrt(np.mean(whole**2, axis=1)) if len(whole) else np.zeros(0)
    said = loud[loud > loud.max(initial=0.0) / 10]
    loudness = float(np.sqrt(np.mean(said**2))) if len(said) else 0.0
    noise = np.random.default_rng(0).standard_normal(len(as_numbers), dtype=np.float32) * NOISE
    return np.clip(as_numbers * (LOUDNESS / max(loudness, 1e-5)), -1.0, 1.0) + noise


def resampled(samples_S: FloatArray, rate: int, wanted: int = RATE) -> FloatArray:
    """Return a sound at another rate, without the frequencies that this rate cannot carry.

    Args:
        samples_S: the sound.
        rate: its samples a second.
        wanted: the samples a second of the result.
    """
    if rate == wanted:
        return samples_S
    # Takes a third of a second to import, which only files of another rate are worth.
    from scipy.signal import resample_poly

    common = gcd(wanted, rate)
    found: FloatArray = resample_poly(samples_S, wanted // common, rate // common)
    return found.astype(np.float32)

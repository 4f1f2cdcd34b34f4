"""Sounds in the form a speech recogniser was trained on: fixed loudness and rate, with faint noise.

Shapes: S samples.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from areaviz.trace.request import RATE

FloatArray = npt.NDArray[np.float32]

LOUDNESS = 0.1
"""Root mean square of speech."""
NOISE = 0.001
"""Standard deviation of the noise under every training string of digits."""
_WINDOW = 200
"""Length in samples of the windows whose loudness decides whether they contain speech."""


def normalise_loudness(samples_S: npt.NDArray[np.int16]) -> FloatArray:
    """Return samples from -1 to 1, scaled to a fixed loudness.

    The loudness of the corpus's speakers differs by a factor of 8.
    """
    as_numbers = samples_S.astype(np.float32) / 32768
    loudness = float(np.sqrt(np.mean(as_numbers**2)))
    return np.clip(as_numbers * (LOUDNESS / max(loudness, 1e-5)), -1.0, 1.0)


def match_training_sound(samples_S: npt.NDArray[np.int16]) -> FloatArray:
    """Return a sound with the loudness and the background noise of training strings.

    Windows with less than a tenth of the loudest window's level do not count as speech. They do not
    affect the measured loudness.
    """
    as_numbers = samples_S.astype(np.float32) / 32768
    whole = as_numbers[: len(as_numbers) // _WINDOW * _WINDOW].reshape(-1, _WINDOW)
    loud = np.sqrt(np.mean(whole**2, axis=1)) if len(whole) else np.zeros(0)
    said = loud[loud > loud.max(initial=0.0) / 10]
    loudness = float(np.sqrt(np.mean(said**2))) if len(said) else 0.0
    noise = np.random.default_rng(0).standard_normal(len(as_numbers), dtype=np.float32) * NOISE
    return np.clip(as_numbers * (LOUDNESS / max(loudness, 1e-5)), -1.0, 1.0) + noise


def resample(samples_S: FloatArray, rate: int, wanted: int = RATE) -> FloatArray:
    """Return a sound at another rate. Frequencies that the new rate cannot represent are removed.

    Args:
        samples_S: The sound.
        rate: Samples per second of the sound.
        wanted: Samples per second of the result.
    """
    if rate == wanted:
        return samples_S
    # Imported here, because the import takes a third of a second and most sounds do not need it.
    from scipy.signal import resample_poly

    common = gcd(wanted, rate)
    found: FloatArray = resample_poly(samples_S, wanted // common, rate // common)
    return found.astype(np.float32)

"""The input of speech networks: the energy of a recording in frequency bands, frame by frame.

Shapes: S samples, F frames, W samples of a window, P frequencies, E bands.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from areaviz.data.sounds import FloatArray
from areaviz.trace.request import RATE

WINDOW, HOP, TRANSFORM = 200, 80, 256
"""Window length (25 ms), distance between frames (10 ms) and transform length, in samples."""
BANDS = 40
FLOOR = 1e-6
"""Energy added before the logarithm, so that silence has a finite value."""


def count_frames(samples: int) -> int:
    """Return the number of frames of a sound with `samples` samples."""
    return 1 + max(0, samples - WINDOW) // HOP


def compute_spectrogram(samples_S: FloatArray) -> FloatArray:
    """Return the logarithm of the energy in each band minus the band's mean: float32 [F, E].

    A sound shorter than a window is padded with silence. Frame f covers the window that starts at
    sample f * HOP.
    """
    if len(samples_S) < WINDOW:
        samples_S = np.pad(samples_S, (0, WINDOW - len(samples_S)))
    windows_FW = np.lib.stride_tricks.sliding_window_view(samples_S, WINDOW)[::HOP]
    spectrum_FP = np.fft.rfft(windows_FW * np.hanning(WINDOW), TRANSFORM, axis=1)
    energy_FE = np.abs(spectrum_FP) ** 2 @ compute_mel_bands().T
    loud_FE = np.log(energy_FE + FLOOR)
    centred: FloatArray = (loud_FE - loud_FE.mean(0)).astype(np.float32)
    return centred


@lru_cache(maxsize=1)
def compute_mel_bands() -> npt.NDArray[np.float64]:
    """Return the weight of each frequency in each band, [E, P]: triangles of equal width in mel.

    The bands cover 60 Hz to half the sampling rate, with mel = 2595 log10(1 + hertz / 700)
    (O'Shaughnessy 1987).
    """
    lowest, highest = _convert_hertz_to_mel(np.array([60.0, RATE / 2]))
    corners_hertz = 700 * (10 ** (np.linspace(lowest, highest, BANDS + 2) / 2595) - 1)
    hertz_P = np.fft.rfftfreq(TRANSFORM, 1 / RATE)
    left, middle, right = corners_hertz[:-2], corners_hertz[1:-1], corners_hertz[2:]
    rising_EP = (hertz_P - left[:, None]) / (middle - left)[:, None]
    falling_EP = (right[:, None] - hertz_P) / (right - middle)[:, None]
    bands_EP: npt.NDArray[np.float64] = np.clip(np.minimum(rising_EP, falling_EP), 0, None)
    return bands_EP


def _convert_hertz_to_mel(hertz: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    mel: npt.NDArray[np.float64] = 2595 * np.log10(1 + hertz / 700)
    return mel

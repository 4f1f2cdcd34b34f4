"""The spectrogram compared with a slow version and with known sounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areaviz.media.sounds import (
    BANDS,
    FLOOR,
    HOP,
    TRANSFORM,
    WINDOW,
    compute_mel_bands,
    compute_spectrogram,
)
from areaviz.trace.request import RATE


def slow_energy(samples: np.ndarray, frame: int, band: int) -> float:
    """Compute the energy of one frame in one band from the definition of the transform."""
    cut = samples[frame * HOP : frame * HOP + WINDOW] * np.hanning(WINDOW)
    total = 0.0
    for number, share in enumerate(compute_mel_bands()[band]):
        if share:
            angles = 2 * math.pi * number * np.arange(WINDOW) / TRANSFORM
            total += share * (float(cut @ np.cos(angles)) ** 2 + float(cut @ np.sin(angles)) ** 2)
    return total


def test_spectrogram_is_log_energy_minus_band_mean() -> None:
    samples = np.random.default_rng(2).standard_normal(WINDOW + 5 * HOP).astype(np.float32)
    found = compute_spectrogram(samples)
    assert found.shape == (6, BANDS) and found.dtype == np.float32
    for band in (0, 13, BANDS - 1):
        loud = np.array([math.log(slow_energy(samples, frame, band) + FLOOR) for frame in range(6)])
        assert found[:, band] == pytest.approx(loud - loud.mean(), abs=1e-3)


@pytest.mark.parametrize("hertz", [200, 500, 1000, 2000, 3500])
def test_tone_is_loudest_in_its_pitch_band(hertz: int) -> None:
    time = np.arange(RATE) / RATE
    tone = np.sin(2 * math.pi * hertz * time).astype(np.float32)
    # The spectrogram subtracts each band's mean. A silent half keeps the tone above that mean.
    found = compute_spectrogram(np.concatenate([np.zeros(RATE, np.float32), tone]))
    energy = compute_mel_bands()[:, round(hertz * TRANSFORM / RATE)]
    assert abs(int(found[-10].argmax()) - int(energy.argmax())) <= 1


def test_pitches_below_half_rate_have_equal_weight() -> None:
    bands = compute_mel_bands()
    middle = np.fft.rfftfreq(TRANSFORM, 1 / RATE)
    within = (middle > 300) & (middle < 3500)
    assert np.allclose(bands.sum(0)[within], 1.0, atol=1e-9) and bands.min() == 0


@pytest.mark.parametrize("length", [0, 1, WINDOW])
def test_sound_shorter_than_window_has_one_frame(length: int) -> None:
    found = compute_spectrogram(np.ones(length, np.float32))
    assert found.shape == (1, BANDS) and np.isfinite(found).all()

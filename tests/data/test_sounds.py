"""Sounds are converted to the form that the speech recogniser was trained on."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.media.sounds import LOUDNESS, NOISE, match_training_sound, normalise_loudness, resample
from areaviz.trace.request import RATE


def tone(hertz: float, rate: int, loudness: float = 0.5) -> np.ndarray:
    return (loudness * np.sin(2 * np.pi * hertz * np.arange(rate) / rate)).astype(np.float32)


def test_loud_and_quiet_voices_get_equal_levels() -> None:
    quiet, loud = (np.full(400, value, np.int16) for value in (100, 20000))
    assert np.allclose(normalise_loudness(quiet), normalise_loudness(loud)) and np.allclose(
        normalise_loudness(loud), LOUDNESS
    )
    assert np.array_equal(normalise_loudness(np.zeros(4, np.int16)), np.zeros(4))


def test_speech_is_normalised_and_silence_has_noise() -> None:
    said = np.concatenate([np.zeros(RATE), 9000 * np.sign(tone(200, RATE))]).astype(np.int16)
    heard = match_training_sound(said)
    assert heard[:RATE].std() == pytest.approx(NOISE, rel=0.1)
    assert np.sqrt(np.mean(heard[RATE:] ** 2)) == pytest.approx(LOUDNESS, rel=0.05)
    # Results are equal in every run. Otherwise a trace could not be reproduced.
    assert np.array_equal(heard, match_training_sound(said))
    assert np.isfinite(match_training_sound(np.zeros(50, np.int16))).all()


@pytest.mark.parametrize("rate", [RATE, 16_000, 22_050, 44_100, 48_000])
def test_tone_stays_a_tone_at_any_rate(rate: int) -> None:
    found = resample(tone(440, rate), rate)
    assert len(found) == RATE and found.dtype == np.float32
    assert int(np.abs(np.fft.rfft(found)).argmax()) == 440


def test_frequencies_above_the_rate_limit_are_removed() -> None:
    assert np.abs(resample(tone(6000, 48_000), 48_000)[400:-400]).max() < 0.02

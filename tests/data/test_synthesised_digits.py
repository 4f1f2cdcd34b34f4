"""Synthesised voices, spoken by a stand-in for espeak-ng that beeps."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from areaviz.lab.tasks import speech
from areaviz.lab.tasks.speech import (
    FIRST_SPEAKER,
    Recordings,
    synthesise_recordings,
    synthesise_words,
)
from areaviz.media.sounds import LOUDNESS
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE

BEEP = f"""#!{sys.executable}
import struct, sys, wave
quiet, loud = [0] * 4410, ([9000] * 50 + [-9000] * 50) * 88
with wave.open(sys.stdout.buffer, "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(22050)
    samples = quiet + loud + quiet
    file.writeframes(struct.pack(f"<{{len(samples)}}h", *samples))
"""


@pytest.fixture
def beeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "espeak-ng"
    program.write_text(BEEP)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("beeping")
def test_silence_is_cut_and_rate_is_converted() -> None:
    heard = synthesise_words("seven", "en-us+m7", 140)
    assert len(heard) == pytest.approx(0.4 * RATE, abs=20)
    assert np.sqrt(np.mean(heard**2)) == pytest.approx(LOUDNESS, rel=0.05)


@pytest.mark.usefixtures("beeping")
def test_every_voice_says_every_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "ACCENTS", ("en-us",))
    monkeypatch.setattr(speech, "VARIANTS", ("m1", "f1"))
    found = synthesise_recordings()
    assert np.bincount(found.digits).tolist() == [4] * 10
    assert set(found.speakers) == {FIRST_SPEAKER, FIRST_SPEAKER + 1}
    own = Recordings([np.zeros(9, np.float32)], np.array([3]), np.array([0]))
    both = own.join_recordings(found)
    assert len(both.samples) == 41 and both.speakers[0] == 0 and both.digits[0] == 3


def test_missing_program_gives_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install espeak-ng"):
        synthesise_words("seven", "en-us", 140)

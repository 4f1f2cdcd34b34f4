"""Uploaded recordings: all formats become one sound, everything else one sentence."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest
import soundfile

from areaviz.data.sound_files import decode_sound, flac
from areaviz.trace.errors import InputError
from areaviz.trace.sound import RATE
from tests import fakes
from tests.trace.sentence import assert_one_sentence


def recording(
    seconds: float = 0.5, rate: int = RATE, channels: int = 1, kind: str = "WAV", level: float = 0.5
) -> bytes:
    time = np.arange(int(seconds * rate)) / rate
    samples = level * np.sin(2 * np.pi * 300 * time)
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, 1), rate, format=kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "AIFF"])
@pytest.mark.parametrize("rate", [8000, 44100])
def test_every_format_becomes_the_same_sound(kind: str, rate: int) -> None:
    decoded = decode_sound(recording(kind=kind, rate=rate), "yours")
    assert decoded.sound.name == f"yours-{decoded.sound.digest}"
    assert decoded.sound.seconds == pytest.approx(0.5, abs=0.01)
    spectrum = np.abs(np.fft.rfft(decoded.sound.samples.astype(float)))
    assert int(spectrum.argmax()) == pytest.approx(150, abs=1)


def test_two_channels_are_one_and_a_low_rate_is_said() -> None:
    decoded = decode_sound(recording(channels=2))
    assert [note.split()[0] for note in decoded.notes] == ["The", "It"]
    assert np.abs(decoded.sound.samples).max() == pytest.approx(0.5 * 32767, rel=0.01)
    assert decode_sound(recording(rate=16_000)).notes == ()


def test_a_sound_comes_back_from_its_flac() -> None:
    sound = fakes.sound()
    assert decode_sound(flac(sound)).sound.pcm == sound.pcm


def test_what_cannot_be_used_is_one_sentence() -> None:
    whole = recording(kind="FLAC", seconds=2.0)
    for content in (
        b"",
        b"no sound at all",
        whole[: len(whole) // 2],
        whole[:60],
        bytes(21 << 20),
        recording(level=0.0),
        recording(seconds=0.05),
        recording(seconds=21.0),
        recording(rate=2000),
        recording(channels=9),
    ):
        with pytest.raises(InputError) as caught:
            decode_sound(content)
        assert_one_sentence(caught.value)


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "AIFF"])
def test_half_a_recording_is_not_taken_for_all_of_it(kind: str) -> None:
    whole = recording(kind=kind, seconds=2.0)
    for part in (whole[: len(whole) // 2], whole[:-100]):
        with pytest.raises(InputError, match="is cut short|is damaged"):
            decode_sound(part)
    decode_sound(whole)


@pytest.mark.parametrize("promised", [0, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_wave_that_was_written_without_an_end_in_sight_is_heard(promised: int) -> None:
    """Programs that write into a pipe do not know how long it will be."""
    content = bytearray(recording())
    content[4:8] = promised.to_bytes(4, "little")
    assert decode_sound(bytes(content)).sound.seconds == pytest.approx(0.5)


def test_a_flac_that_names_no_length_says_so() -> None:
    """36 bits of its header, behind 4 of the bits of a sample."""
    content = bytearray(recording(kind="FLAC"))
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    with pytest.raises(InputError, match="does not say how long") as caught:
        decode_sound(bytes(content))
    assert_one_sentence(caught.value)


def test_channels_are_mixed_block_by_block() -> None:
    """All samples of 20 seconds at the highest rate are 123 MB, and decoding took four times it."""
    samples_SC = np.zeros((1_200_000, 8), np.float32)
    samples_SC[::3] = 0.4
    file = io.BytesIO()
    soundfile.write(file, samples_SC, 192_000, format="FLAC")
    content = file.getvalue()
    decode_sound(content)
    tracemalloc.start()
    decode_sound(content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.75 * samples_SC.nbytes


def test_ten_minutes_are_refused_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    content = recording(seconds=600.0, kind="FLAC")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(soundfile.SoundFile, "read", read)
    with pytest.raises(InputError, match="600 seconds long"):
        decode_sound(content)


def test_a_header_that_promises_more_than_there_is_costs_no_memory() -> None:
    """A WAV of a few bytes whose header says that it has two gigabytes."""
    content = bytearray(recording())
    content[40:44] = (2**31 - 8).to_bytes(4, "little")
    content[4:8] = (2**31 + 28).to_bytes(4, "little")
    with pytest.raises(InputError) as caught:
        decode_sound(bytes(content[:200]))
    assert_one_sentence(caught.value)

"""Uploaded recordings: every format becomes a sound, and anything else gives one error sentence."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pytest
import soundfile

from areaviz.media.sounds import decode_sound, encode_flac
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE
from tests import fakes
from tests.trace.sentence import assert_one_sentence

KINDS = ["WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF"]


def recording(
    seconds: float = 0.5, rate: int = RATE, channels: int = 1, kind: str = "WAV", level: float = 0.5
) -> bytes:
    time = np.arange(int(seconds * rate)) / rate
    samples = level * np.sin(2 * np.pi * 300 * time)
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, 1), rate, format=kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [8000, 44100])
def test_every_format_becomes_the_same_sound(kind: str, rate: int) -> None:
    decoded = decode_sound(recording(kind=kind, rate=rate), "yours")
    assert decoded.sound.name == f"yours-{decoded.sound.digest}"
    assert decoded.sound.seconds == pytest.approx(0.5, abs=0.01)
    spectrum = np.abs(np.fft.rfft(decoded.sound.samples.astype(float)))
    assert int(spectrum.argmax()) == pytest.approx(150, abs=1)


def test_stereo_becomes_mono_and_low_rate_is_noted() -> None:
    decoded = decode_sound(recording(channels=2))
    assert [note.split()[0] for note in decoded.notes] == ["You", "It"]
    assert np.abs(decoded.sound.samples).max() == pytest.approx(0.5 * 32767, rel=0.01)
    assert decode_sound(recording(rate=16_000)).notes == ()


def test_sound_survives_round_trip_as_flac() -> None:
    sound = fakes.sound()
    assert decode_sound(encode_flac(sound)).sound.pcm == sound.pcm


def test_unusable_recording_gives_one_sentence() -> None:
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


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_recording_is_refused(kind: str) -> None:
    whole = recording(kind=kind, seconds=2.0)
    # An MP3 has a few kilobytes per second, so 300 bytes may be less than one frame.
    for part in (whole[: len(whole) // 2], whole[: -1000 if kind == "MP3" else -300]):
        with pytest.raises(InputError, match="is incomplete|is damaged"):
            decode_sound(part)
    decode_sound(whole)


@pytest.mark.parametrize("promised", [0, 0x7FFFFFFF, 0xFFFFFFFF])
def test_wave_of_unknown_length_is_decoded(promised: int) -> None:
    """Programs that write into a pipe do not know the final length."""
    content = bytearray(recording())
    content[4:8] = promised.to_bytes(4, "little")
    assert decode_sound(bytes(content)).sound.seconds == pytest.approx(0.5)


@pytest.mark.parametrize("surplus", [8, 44, -8, -1000])
@pytest.mark.parametrize("kind", ["WAV", "WAVEX"])
def test_wrong_file_size_in_header_is_accepted(kind: str, surplus: int) -> None:
    """Browsers count the first eight bytes of the file, although the format does not."""
    content = bytearray(recording(kind=kind))
    content[4:8] = (len(content) - 8 + surplus).to_bytes(4, "little")
    assert decode_sound(bytes(content)).sound.seconds == pytest.approx(0.5)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 8_044])
def test_wrong_sample_size_in_header_is_accepted(size: int) -> None:
    content = bytearray(recording())
    at = content.find(b"data")
    content[at + 4 : at + 8] = size.to_bytes(4, "little")
    assert decode_sound(bytes(content)).sound.seconds == pytest.approx(0.5)


def test_chunks_before_the_samples_are_skipped() -> None:
    content = recording()
    at = content.find(b"data")
    more = content[:at] + b"LIST" + (5).to_bytes(4, "little") + b"INFOx\0" + content[at:]
    assert decode_sound(more).sound.seconds == pytest.approx(0.5)
    with pytest.raises(InputError, match="incomplete"):
        decode_sound(more[:-2000])


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100, 48_000])
def test_mp3_without_length_is_decoded_to_its_end(rate: int) -> None:
    """The decoder would otherwise stop at the end that it estimates from the first frame's size."""
    noise = np.random.default_rng(0).standard_normal(2 * rate) * 0.05
    file = io.BytesIO()
    sine = 0.4 * np.sin(2 * np.pi * 300 * np.arange(2 * rate) / rate)
    soundfile.write(file, sine + noise, rate, format="MP3")
    whole = file.getvalue()
    bare = whole[whole.find(whole[:2], 4) :]
    tag = b"ID3\3\0\0\0\0\7\x76" + bytes(1014)
    for content in (whole, bare, tag + bare):
        assert decode_sound(content).sound.seconds == pytest.approx(2, abs=0.12)
        with pytest.raises(InputError, match="is incomplete"):
            decode_sound(content[: len(content) * 2 // 3 - 5])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\0\0\0\x20ftypM4A \0\0\0\0", "an M4A recording"),
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a WMA or WMV file"),
        (b"\xff\xf1\x50\x80", "an AAC recording"),
        (b"#!AMR\n", "an AMR recording"),
        (b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
        (b"\xff\xd8\xff\xe0", "a JPEG picture"),
    ],
)
def test_file_of_another_kind_is_named(content: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=f"The file is {kind}, but only WAV") as caught:
        decode_sound(content + bytes(100))
    assert_one_sentence(caught.value)


def test_flac_without_length_is_reported() -> None:
    """The test clears the 36 bits of the header that hold the number of samples."""
    content = bytearray(recording(kind="FLAC"))
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    with pytest.raises(InputError, match="does not state its length") as caught:
        decode_sound(bytes(content))
    assert_one_sentence(caught.value)


def test_channels_are_mixed_block_by_block() -> None:
    """Decoding must not hold all samples at once.

    The samples, 6 seconds of 8 channels at the highest rate, take 38 MB.
    """
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


def test_ten_minutes_are_refused_before_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    content = recording(seconds=600.0, kind="FLAC")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr(soundfile.SoundFile, "read", read)
    with pytest.raises(InputError, match="600 seconds long"):
        decode_sound(content)


def test_header_with_false_size_is_refused() -> None:
    """The header of this short WAV promises two gigabytes."""
    content = bytearray(recording())
    content[40:44] = (2**31 - 8).to_bytes(4, "little")
    content[4:8] = (2**31 + 28).to_bytes(4, "little")
    with pytest.raises(InputError) as caught:
        decode_sound(bytes(content[:200]))
    assert_one_sentence(caught.value)

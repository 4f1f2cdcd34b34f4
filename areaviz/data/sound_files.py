"""Uploaded recordings, made safe: any bytes become a short sound or a sentence of refusal.

What a file is follows from its content. Its length is read from the header, and no more samples
are decoded than a sound may have, whatever the header says.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import soundfile

from areaviz.data.sounds import resampled
from areaviz.trace.errors import InputError
from areaviz.trace.sound import RATE, SECONDS, Sound, check_sound

FORMATS = ("WAV", "FLAC", "OGG", "AIFF")
FORMATS_TEXT = "WAV, FLAC, Ogg or AIFF"
MAX_MEGABYTES = 20
RATES = (4_000, 192_000)
"""Samples a second that a file may have."""
MAX_CHANNELS = 8
SILENT = 1e-3
"""A sound whose loudest sample is below this share of the largest possible one says nothing."""
_CLEAR = 11_025
"""Below this rate the hiss of s and f, and so six and seven, are cut off."""
_BLOCK = 65_536
"""Samples of each channel that are decoded at once."""
_UNKNOWN = 2**63 - 1
"""The length that the decoder gives where a file names none."""
_ORDERS: Mapping[bytes, Literal["little", "big"]] = {b"RIFF": "little", b"FORM": "big"}
"""By their first four bytes the files whose length stands in the next four, and in which order."""
_NO_END = 0x7FFFF000
_LAST_PAGE = 4
"""What the sixth byte of the last page of an Ogg file has set."""


@dataclass(frozen=True, slots=True)
class DecodedSound:
    """A sound and, for the reader, a sentence for each thing that was changed."""

    sound: Sound
    notes: tuple[str, ...]


def decode_sound(content: bytes, name: str = "upload") -> DecodedSound:
    """The sound in a file's bytes, called `name`, a hyphen and its digest: one channel, at `RATE`.

    Raises:
        InputError: the file is empty, has more than 20 MB, is damaged or of another format; the
            sound is silent, shorter than a tenth of a second or longer than 20 seconds, or has a
            rate or a number of channels that no recording has.
    """
    if not content:
        raise InputError(f"The file is empty; choose a {FORMATS_TEXT} recording.")
    if len(content) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(content) / 2**20:,.1f} MB but at most {MAX_MEGABYTES} are possible;"
            " cut the recording and choose it again."
        )
    found = _read(content)
    notes = []
    if found.channels > 1:
        notes.append(f"The mean of its {found.channels} channels is heard.")
    if found.rate < _CLEAR:
        notes.append(f"It has only {found.rate:,} samples a second, as a telephone has.")
    if found.loudest < SILENT:
        raise InputError("The recording is silent; check the microphone, or choose another one.")
    heard_S = resampled(found.mean_S, found.rate)
    pcm_S = np.clip(np.round(heard_S * 32767), -32768, 32767).astype(np.int16)
    sound = Sound.of(name, pcm_S)
    named = Sound(f"{name}-{sound.digest}", sound.pcm)
    check_sound(named)
    return DecodedSound(named, tuple(notes))


def flac(sound: Sound) -> bytes:
    """A sound as a file that browsers play, half as large as its samples."""
    file = io.BytesIO()
    soundfile.write(file, np.array(sound.samples), RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class _Recording:
    """What is in a file: the mean of its channels, from -1 to 1, and what is known of them."""

    mean_S: npt.NDArray[np.float32]
    rate: int
    channels: int
    # The largest sample of any channel, without its sign.
    loudest: float


def _read(content: bytes) -> _Recording:
    _check_whole(content)
    damaged = InputError(
        f"The file is no {FORMATS_TEXT} recording, or it is damaged; save it as WAV and choose that"
        " file."
    )
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            if file.format not in FORMATS:
                raise damaged
            _check_header(file.samplerate, file.channels, file.frames)
            return _decoded(file)
    except InputError:
        raise
    except (soundfile.SoundFileError, ValueError, OSError, TypeError) as error:
        raise damaged from error


def _decoded(file: soundfile.SoundFile) -> _Recording:
    """Block by block: eight channels at the highest rate would take half a gigabyte at once."""
    means, count, loudest = [], 0, 0.0
    while count < file.frames:
        block_SC = np.nan_to_num(file.read(_BLOCK, dtype="float32", always_2d=True))
        if not len(block_SC):
            raise _cut_short()
        loudest = max(loudest, float(np.abs(block_SC).max()))
        means.append(block_SC.mean(1))
        count += len(block_SC)
    if not means:
        raise _cut_short()
    return _Recording(np.concatenate(means), file.samplerate, file.channels, loudest)


def _check_whole(content: bytes) -> None:
    """Refuse half of a file whose reader takes what is there for all there was."""
    if content.startswith(b"OggS"):
        marks = content[content.rfind(b"OggS") :][5:6]
        if not marks or not marks[0] & _LAST_PAGE:
            raise _cut_short()
    order = _ORDERS.get(content[:4])
    if order is None:
        return
    promised = int.from_bytes(content[4:8], order)
    # A program that writes without an end in sight promises nothing, or as much as can be said.
    is_known = 0 < promised < _NO_END
    # The byte that makes a length even may be left out.
    if is_known and promised + 8 > len(content) + 1:
        raise _cut_short()


def _cut_short() -> InputError:
    return InputError("The recording is cut short; save it again, or choose another one.")


def _check_header(rate: int, channels: int, samples: int) -> None:
    """Refuse by the header what would take too long to decode, or was never recorded."""
    if not RATES[0] <= rate <= RATES[1]:
        raise InputError(
            f"The recording has {rate:,} samples a second but {RATES[0]:,} to {RATES[1]:,} are"
            " possible; save it with 16,000."
        )
    if channels > MAX_CHANNELS:
        raise InputError(
            f"The recording has {channels} channels but at most {MAX_CHANNELS} are possible; save"
            " it with one."
        )
    if samples == _UNKNOWN:
        raise InputError(
            "The file does not say how long its recording is, as if it was never finished; save it"
            " again and choose that file."
        )
    if samples > SECONDS[1] * rate:
        raise InputError(
            f"The recording is {samples / rate:,.0f} seconds long but at most {SECONDS[1]:.0f} are"
            " possible; cut it."
        )

"""Uploaded recordings, made safe: any bytes become a short sound or a sentence of refusal.

What a file is follows from its content. Its length is read from the header, and no more samples
are decoded than a sound may have, whatever the header says.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
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
    samples_SC, rate = _read(content)
    notes = []
    if samples_SC.shape[1] > 1:
        notes.append(f"The mean of its {samples_SC.shape[1]} channels is heard.")
    if rate < _CLEAR:
        notes.append(f"It has only {rate:,} samples a second, as a telephone has.")
    if np.abs(samples_SC).max(initial=0.0) < SILENT:
        raise InputError("The recording is silent; check the microphone, or choose another one.")
    heard_S = resampled(samples_SC.mean(1), rate)
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


def _read(content: bytes) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float32]], int]:
    """The samples [S, channels], from -1 to 1, and how many a second has."""
    damaged = InputError(
        f"The file is no {FORMATS_TEXT} recording, or it is damaged; save it as WAV and choose that"
        " file."
    )
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            if file.format not in FORMATS:
                raise damaged
            _check_header(file.samplerate, file.channels, file.frames)
            most = int(SECONDS[1] * file.samplerate) + 1
            samples_SC = file.read(most, dtype="float32", always_2d=True)
            rate, promised = file.samplerate, file.frames
    except InputError:
        raise
    except (soundfile.SoundFileError, ValueError, OSError, TypeError) as error:
        raise damaged from error
    if len(samples_SC) < promised:
        raise InputError("The recording is cut short; save it again, or choose another one.")
    return np.nan_to_num(samples_SC), rate


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
    if samples > SECONDS[1] * rate:
        raise InputError(
            f"The recording is {samples / rate:,.0f} seconds long but at most {SECONDS[1]:.0f} are"
            " possible; cut it."
        )

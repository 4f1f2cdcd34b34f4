"""Safe decoding of uploaded recordings: any file becomes a short sound or a clear error.

The content of a file determines its format, not its name. The length in the header is checked
before any sample is decoded. Decoding stops at that length, even if the file contains more samples.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from areaviz.data.format_names import name_file_kind
from areaviz.data.mp3_frames import is_mp3, with_length
from areaviz.data.sounds import resample
from areaviz.data.wave_chunks import is_chunked, with_sizes
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE, SECONDS, Sound

if TYPE_CHECKING:
    import soundfile

# WAVEX and RF64 are WAV files with a longer header.
FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF")
FORMATS_TEXT = "WAV, FLAC, Ogg, MP3 or AIFF"
MAX_MEGABYTES = 20
RATES = (4_000, 192_000)
"""Minimum and maximum samples per second of a file."""
MAX_CHANNELS = 8
SILENCE_LEVEL = 1e-3
"""A recording counts as silent if all its samples, from -1 to 1, are below this absolute value."""
_CLEAR = 11_025
"""Samples per second below which the user gets a note. Such recordings sound dull, because they
lack much of the hiss of "s" and "f", for example in "six" and "five"."""
_BLOCK = 65_536
"""Samples per channel to decode at once."""
_MP3_FRAMES = 3 * 1152
"""Number of samples that may be missing at the end of an MP3: three frames of 1,152 samples."""
_UNKNOWN = 2**63 - 1
"""Number of samples that the decoder reports if the file does not state its length."""
_LAST_PAGE = 4
"""The flag in the sixth byte of an Ogg file's last page."""


@dataclass(frozen=True, slots=True)
class DecodedSound:
    """A sound, and a sentence for the user about each change that was made to it."""

    sound: Sound
    notes: tuple[str, ...]


def decode_sound(content: bytes, name: str = "upload") -> DecodedSound:
    """Decode a file to a sound with one channel and `RATE` samples per second.

    The name of the sound is `name`, a hyphen and its digest.

    Raises:
        InputError: The file is empty, has more than 20 MB, is damaged, has another format or does
            not state its length. The error is also raised for a sound that is silent, shorter than
            a tenth of a second or longer than 20 seconds, for a rate outside `RATES` and for more
            than `MAX_CHANNELS` channels.
    """
    found = read_recording(content, SECONDS[1])
    notes = []
    if found.channels > 1:
        notes.append(f"You hear the mean of its {found.channels} channels.")
    if found.rate < _CLEAR:
        notes.append(f"It has only {found.rate:,} samples per second, like a telephone call.")
    if found.loudest < SILENCE_LEVEL:
        raise InputError("The recording is silent. Check the microphone, or choose another one.")
    heard_S = resample(found.mean_S, found.rate)
    pcm_S = np.clip(np.round(heard_S * 32767), -32768, 32767).astype(np.int16)
    sound = Sound.of(name, pcm_S)
    named = Sound(f"{name}-{sound.digest}", sound.pcm)
    named.check()
    return DecodedSound(named, tuple(notes))


def encode_flac(sound: Sound) -> bytes:
    """Encode a sound as FLAC, which browsers play and which takes half the space of its samples."""
    # Imported here, because only files need the package, and the base install lacks it.
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, np.array(sound.samples), RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of a file: the mean of its channels, from -1 to 1, and its properties."""

    mean_S: npt.NDArray[np.float32]
    # Samples per second.
    rate: int
    channels: int
    # Largest absolute value of a sample in any channel.
    loudest: float


def read_recording(content: bytes, most_seconds: float) -> Recording:
    """Return the content of a file, at the file's own rate.

    Raises:
        InputError: The file is empty, has more than 20 MB, is damaged or has another format. The
            error is also raised if the header fails one of the checks in `_check_header`.
    """
    import soundfile

    if not content:
        raise InputError(f"The file is empty. Choose a {FORMATS_TEXT} recording.")
    if len(content) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(content) / 2**20:,.1f} MB, but the limit is {MAX_MEGABYTES}"
            " MB. Trim the recording and choose it again."
        )
    whole = _with_whole_header(content)
    try:
        with soundfile.SoundFile(io.BytesIO(whole)) as file:
            if file.format not in FORMATS:
                raise _make_unreadable_error(content)
            _check_header(file.samplerate, file.channels, file.frames, most_seconds)
            return _decode_recording(file)
    except InputError:
        raise
    except (soundfile.SoundFileError, ValueError, OSError, TypeError) as error:
        raise _make_unreadable_error(content) from error


def _decode_recording(file: soundfile.SoundFile) -> Recording:
    """Decode a file and return the mean of its channels.

    The file is decoded in blocks. Eight channels at the highest rate would take half a gigabyte at
    once.
    """
    means, count, loudest = [], 0, 0.0
    while count < file.frames:
        block_SC = np.nan_to_num(file.read(_BLOCK, dtype="float32", always_2d=True))
        if not len(block_SC):
            # The header of an MP3 may count samples that its encoder added at the end.
            if file.format == "MP3" and file.frames - count <= _MP3_FRAMES:
                break
            raise _cut_short()
        loudest = max(loudest, float(np.abs(block_SC).max()))
        means.append(block_SC.mean(1))
        count += len(block_SC)
    if not means:
        raise _cut_short()
    return Recording(np.concatenate(means), file.samplerate, file.channels, loudest)


def _with_whole_header(content: bytes) -> bytes:
    """Return the file with a header that states its length, so that the decoder reads all of it.

    Raises:
        InputError: The end of the file is missing. The decoder would not notice this.
    """
    if content.startswith(b"OggS"):
        marks = content[content.rfind(b"OggS") :][5:6]
        if not marks or not marks[0] & _LAST_PAGE:
            raise _cut_short()
        return content
    whole: bytes | None = content
    if is_chunked(content):
        whole = with_sizes(content)
    elif is_mp3(content):
        whole = with_length(content)
    if whole is None:
        raise _cut_short()
    return whole


def _make_unreadable_error(content: bytes) -> InputError:
    """Return the error for a file that cannot be decoded. It names the format if it is known."""
    kind = name_file_kind(content)
    if kind and not any(name in kind for name in ("WAV", "FLAC", "Ogg", "MP3")):
        return InputError(
            f"The file is {kind}, but only {FORMATS_TEXT} recordings can be read. Convert it"
            " to WAV, for example with ffmpeg or Audacity."
        )
    return InputError(
        f"The file is not a {FORMATS_TEXT} recording, or it is damaged. Save it as WAV and"
        " choose that file."
    )


def _cut_short() -> InputError:
    return InputError("The recording is incomplete. Save it again, or choose another one.")


def _check_header(rate: int, channels: int, samples: int, most_seconds: float) -> None:
    """Check the properties that the header of a file states.

    Args:
        rate: samples per second.
        channels: number of channels.
        samples: number of samples per channel, or `_UNKNOWN`.
        most_seconds: maximum length in seconds.

    Raises:
        InputError: The rate is outside `RATES`, there are more than `MAX_CHANNELS` channels, the
            length is not stated, or it exceeds `most_seconds`.
    """
    if not RATES[0] <= rate <= RATES[1]:
        raise InputError(
            f"The sample rate is {rate:,} Hz, but it must be from {RATES[0]:,} to {RATES[1]:,} Hz."
            " Save the recording with 16,000 Hz."
        )
    if channels > MAX_CHANNELS:
        raise InputError(
            f"The recording has {channels} channels, but the limit is {MAX_CHANNELS}. Save it"
            " with one channel."
        )
    if samples == _UNKNOWN:
        raise InputError(
            "The file does not state its length, so it may be incomplete. Save it again and"
            " choose that file."
        )
    if samples > most_seconds * rate:
        raise InputError(
            f"The recording is {samples / rate:,.0f} seconds long, but the limit is"
            f" {most_seconds:.0f} seconds. Trim it."
        )

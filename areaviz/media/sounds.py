"""Sounds: the form that speech recognisers read, spectrograms, and decoding of recordings.

The first half prepares samples for models. The second half checks WAV and MP3 files and decodes
uploads. Its entry point is `decode_sound`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from areaviz.media.formats import name_file_kind
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE, SECONDS, Sound

if TYPE_CHECKING:
    import soundfile


# Sounds in the form a speech recogniser was trained on: fixed loudness and rate, with faint noise.
#
# Shapes: S samples.


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


# The input of speech networks: the energy of a recording in frequency bands, frame by frame.
#
# Shapes: S samples, F frames, W samples of a window, P frequencies, E bands.


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


# Chunks of WAV, RF64 and AIFF files, and a check that all samples are present.
#
# A program that writes the header before it knows the length sets the sizes to 0 or to the largest
# number. Some programs count the header as samples. The total size in the header is therefore
# ignored. Only the size of the chunk with the samples counts.


# A chunk with a stated size of 0, or of at least this number, does not state its real size.
_UNKNOWN_SIZE = 0x7FFFFF00
# Number of missing bytes that are tolerated, because a program may have counted the header as
# samples. Nobody can hear the loss of these few bytes.
_SLACK = 128
_MOST_CHUNKS = 10_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk: its name, the start of its content, and its stated size."""

    name: bytes
    start: int
    size: int


def is_chunked(content: bytes) -> bool:
    """Return whether a file is WAV, RF64 or AIFF, by its first bytes."""
    return content[:4] in (b"RIFF", b"RF64", b"FORM")


def with_sizes(content: bytes) -> bytes | None:
    """Return the file with the real size of its sample chunk, or None if samples are missing."""
    order: Literal["little", "big"] = "big" if content.startswith(b"FORM") else "little"
    long_size = None
    for chunk in _iterate_chunks(content, order):
        if chunk.name == b"ds64":
            sizes = content[chunk.start : chunk.start + 16]
            long_size = int.from_bytes(sizes[8:16], "little")
        if chunk.name not in (b"data", b"SSND"):
            continue
        there = len(content) - chunk.start
        size = chunk.size
        if content.startswith(b"RF64") and size == 0xFFFFFFFF and long_size is not None:
            return content if long_size <= there + _SLACK else None
        if 0 < size < _UNKNOWN_SIZE:
            return content if size <= there + _SLACK else None
        known = there.to_bytes(4, order)
        return content[: chunk.start - 4] + known + content[chunk.start :]
    return content


def _iterate_chunks(content: bytes, order: Literal["little", "big"]) -> Iterator[Chunk]:
    at = 12
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(content):
            return
        size = int.from_bytes(content[at + 4 : at + 8], order)
        yield Chunk(content[at : at + 4], at + 8, size)
        # After a chunk of odd size comes one more byte, which the size does not count.
        at += 8 + size + size % 2


# Frames of MP3 files: check that no frame is missing, and count them.
#
# A Xing header states the number of frames. Without one, the decoder estimates the length of the
# file from its first frame and stops there. It would then lose the end of a file whose frames
# differ in size. Such a file therefore gets a Xing header.


# Kilobits per second by index, for layer 3 of MPEG 1 and of MPEG 2 and 2.5 (ISO 11172-3, 13818-3).
_RATES_1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_RATES_2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
# Samples per second by index, for MPEG 1. MPEG 2 has half and MPEG 2.5 a quarter of them.
_SAMPLES = (44_100, 48_000, 32_000)
_MONO = 3
# Maximum total number of bytes to skip between frames. Editors leave tags there.
_MOST_BETWEEN = 65_536
# Number of missing frames that are tolerated: for the decoder's delay, and for a last frame that
# some encoders omit.
_SLACK_FRAMES = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """The position and size of an MP3 frame in bytes."""

    start: int
    size: int
    # Bytes of side information after the frame's header. A Xing header comes after them.
    side: int


def is_mp3(content: bytes) -> bool:
    """Return whether a file starts like an MP3 file, with an ID3 tag or a frame of layer 3."""
    return content.startswith(b"ID3") or _parse_frame(content, 0) is not None


def with_length(content: bytes) -> bytes | None:
    """Return an MP3 file with a Xing header, or None if frames are missing at its end.

    A file that already has a Xing header, or has no frames at all, is returned unchanged.
    """
    frames = list(_iterate_frames(content))
    if not frames:
        return content
    first = frames[0]
    promised = _read_promised_count(content, first)
    last = frames[-1]
    is_cut = last.start + last.size > len(content)
    if promised is None:
        return (
            None
            if is_cut
            else _make_xing_frame(content, first, len(frames)) + content[first.start :]
        )
    return content if len(frames) - 1 >= promised - _SLACK_FRAMES else None


def _iterate_frames(content: bytes) -> Iterator[Frame]:
    at, missed = _tag_size(content), 0
    while at + 4 <= len(content) and missed < _MOST_BETWEEN:
        frame = _parse_frame(content, at)
        if frame is None:
            at, missed = at + 1, missed + 1
            continue
        yield frame
        at += frame.size


def _tag_size(content: bytes) -> int:
    """Return the size of an ID3 tag at the start. Its length field has seven bits per byte."""
    if not content.startswith(b"ID3") or len(content) < 10:
        return 0
    size = 0
    for byte in content[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _parse_frame(content: bytes, at: int) -> Frame | None:
    """Return the frame of layer 3 that begins at this position, or None."""
    header = int.from_bytes(content[at : at + 4], "big")
    version, layer, rate = header >> 19 & 3, header >> 17 & 3, header >> 12 & 15
    samples = header >> 10 & 3
    if header >> 21 != 0x7FF or version == 1 or layer != 1 or rate in (0, 15) or samples == 3:
        return None
    is_first = version == 3
    divisor = {3: 1, 2: 2, 0: 4}[version]
    bits = 1000 * (_RATES_1 if is_first else _RATES_2)[rate]
    size = (144 if is_first else 72) * bits // (_SAMPLES[samples] // divisor) + (header >> 9 & 1)
    is_mono = header >> 6 & 3 == _MONO
    side = (17 if is_mono else 32) if is_first else (9 if is_mono else 17)
    return Frame(at, size, side)


def _read_promised_count(content: bytes, first: Frame) -> int | None:
    """Return the number of frames that the Xing header states, or None without such a number."""
    at = first.start + 4 + first.side
    if content[at : at + 4] not in (b"Xing", b"Info") or not content[at + 7] & 1:
        return None
    return int.from_bytes(content[at + 8 : at + 12], "big")


def _make_xing_frame(content: bytes, first: Frame, count: int) -> bytes:
    """Return a silent frame with a Xing header that states how many frames follow."""
    header = content[first.start : first.start + 4]
    says = b"Xing" + (1).to_bytes(4, "big") + count.to_bytes(4, "big")
    frame = (header + bytes(first.side) + says).ljust(first.size, b"\0")
    # Frames of the lowest bit rates have no space for the header. Such files practically always
    # have a constant rate, so the decoder's estimate of their length is right.
    return frame if len(frame) == first.size else b""


# Safe decoding of uploaded recordings: any file becomes a short sound or a clear error.
#
# The content of a file determines its format, not its name. The length in the header is checked
# before any sample is decoded. Decoding stops at that length, even if the file contains more
# samples.


# WAVEX and RF64 are WAV files with a longer header.
SOUND_FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "MP3", "AIFF")
SOUND_FORMATS_TEXT = "WAV, FLAC, Ogg, MP3 or AIFF"
MAX_SOUND_MEGABYTES = 20
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
        raise InputError(f"The file is empty. Choose a {SOUND_FORMATS_TEXT} recording.")
    if len(content) > MAX_SOUND_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(content) / 2**20:,.1f} MB, but the limit is {MAX_SOUND_MEGABYTES}"
            " MB. Trim the recording and choose it again."
        )
    whole = _with_whole_header(content)
    try:
        with soundfile.SoundFile(io.BytesIO(whole)) as file:
            if file.format not in SOUND_FORMATS:
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
            f"The file is {kind}, but only {SOUND_FORMATS_TEXT} recordings can be read. Convert it"
            " to WAV, for example with ffmpeg or Audacity."
        )
    return InputError(
        f"The file is not a {SOUND_FORMATS_TEXT} recording, or it is damaged. Save it as WAV and"
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

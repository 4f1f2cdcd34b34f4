"""Frames of MP3 files: check that no frame is missing, and count them.

A Xing header states the number of frames. Without one, the decoder estimates the length of the file
from its first frame and stops there. It would then lose the end of a file whose frames differ in
size. Such a file therefore gets a Xing header.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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

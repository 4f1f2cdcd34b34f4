"""Chunks of WAV, RF64 and AIFF files: whether all samples are present.

Programs that record for an unknown time leave sizes at 0 or at the largest number, and some count a
header too many. The total size of a file is therefore not trusted. The chunk with the samples
states its own length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# A size from here on means that the program did not know it.
_UNKNOWN_SIZE = 0x7FFFFF00
# Tolerance for a header that was counted as samples. No listener would miss so few bytes at the
# end.
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
    """Return a file whose sample chunk has a valid size, or None if samples are missing."""
    order: Literal["little", "big"] = "big" if content.startswith(b"FORM") else "little"
    long_size = None
    for chunk in _chunks(content, order):
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


def _chunks(content: bytes, order: Literal["little", "big"]) -> Iterator[Chunk]:
    at = 12
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(content):
            return
        size = int.from_bytes(content[at + 4 : at + 8], order)
        yield Chunk(content[at : at + 4], at + 8, size)
        # The byte that makes a size even is not counted.
        at += 8 + size + size % 2

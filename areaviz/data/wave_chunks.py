"""Chunks of WAV, RF64 and AIFF files, and a check that all samples are present.

A program that writes the header before it knows the length sets the sizes to 0 or to the largest
number. Some programs count the header as samples. The total size in the header is therefore
ignored. Only the size of the chunk with the samples counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

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

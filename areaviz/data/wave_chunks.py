"""Read chunks of WAV, RF64 and AIFF files, and check whether all samples are present.

A program that does not know how long it will record leaves the sizes at 0 or at the largest number.
Some programs also count a header as samples. The total size that a file states is therefore not
trusted. The chunk with the samples states its own size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# A stated size of at least this means that the program did not know the size.
_UNKNOWN_SIZE = 0x7FFFFF00
# Number of missing bytes that are tolerated, because a header may have been counted as samples. So
# few bytes at the end cannot be heard.
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
    """Return the file with a valid size in its sample chunk, or None if samples are missing."""
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

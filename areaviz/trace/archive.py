"""Safe reading of untrusted npz archives.

The headers give the contents of an archive before anything is unpacked. Nothing is allocated for an
archive or an array that is larger than its header states or larger than the limits.

Shapes: R rows of an array along its last axis, X numbers per row.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

MAX_BYTES = 512 * 2**20
MAX_DIRECTORY_BYTES = 2**16
# Maximum size of an array's header, including its magic bytes. NumPy also refuses longer ones.
HEADER_BYTES = 10_000 + 12
# Approximate number of bytes of an entry that are unpacked at a time.
BLOCK_BYTES = 2**22
NO_TRACE = "The file is not a trace. Choose a trace that this app has saved."
_END_OF_DIRECTORY = struct.Struct("<4s4H2LH")
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def check_archive(file: BinaryIO, refusal: str = NO_TRACE, most: int | None = None) -> None:
    """Refuse a file that is not a zip archive, is too large, or has an excessive directory.

    Args:
        file: Open, seekable file.
        refusal: Error message for a file that is not an archive.
        most: Maximum size of the file in bytes, 512 MiB by default.

    Raises:
        InputError: The file is not an archive, or it is too large.
        BadZipFile: The archive is damaged, or it uses zip64.
    """
    size = file.seek(0, io.SEEK_END)
    check_size(size, most or MAX_BYTES, "The file")
    # The last record of the file gives the position of the directory. In a zip64 archive, a locator
    # record precedes it.
    length = min(size, _END_OF_DIRECTORY.size + 20)
    file.seek(size - length)
    tail = file.read(length)
    file.seek(0)
    if file.read(4) != b"PK\x03\x04":
        raise InputError(refusal)
    file.seek(0)
    if len(tail) < _END_OF_DIRECTORY.size:
        raise zipfile.BadZipFile
    record = tail[-_END_OF_DIRECTORY.size :]
    magic, *_, directory_bytes, _, comment_bytes = _END_OF_DIRECTORY.unpack(record)
    if magic != b"PK\x05\x06" or comment_bytes or tail.startswith(b"PK\x06\x07"):
        raise zipfile.BadZipFile
    check_size(directory_bytes, MAX_DIRECTORY_BYTES, "The file's list of contents")


def check_size(size: int, limit: int, what: str) -> None:
    """Raise an InputError that begins with `what` if `size` exceeds `limit` bytes."""
    if size > limit:
        raise InputError(
            f"{what} takes {size / 2**20:,.1f} MiB, but the limit is {limit / 2**20:,.4g} MiB."
            " Make a trace of a shorter text or a smaller model."
        )


def unpack_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int | None = None
) -> bytes:
    """Return the bytes of an entry, or its first `most` bytes.

    The result is never longer than the size in the entry's header.

    Raises:
        ValueError: The entry is compressed with bz2 or lzma, whose decoders may return more than
            `most` bytes at once.
    """
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f'"{entry.filename}" is packed in a way that traces do not use')
    with archive.open(entry) as file:
        return file.read(entry.file_size if most is None else min(most, entry.file_size))


@dataclass(frozen=True, slots=True)
class Header:
    """Shape and type of an array entry, and the position of its first number."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    # Offset of the first number, in bytes.
    start: int

    @property
    def nbytes(self) -> int:
        """The size of the array's data in bytes."""
        return prod(self.shape) * self.dtype.itemsize


def read_header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Header:
    """Read the array header of an entry.

    Raises:
        InputError: The npy version is unknown, or the array holds Python objects.
        ValueError: The entry has no npy header.
    """
    name = entry.filename.removesuffix(".npy")
    file = io.BytesIO(unpack_entry(archive, entry, HEADER_BYTES))
    version = np.lib.format.read_magic(file)
    if version not in _READERS:
        raise InputError(
            f'The array "{name}" has an unknown .npy version. Save it again with numpy.savez.'
        )
    shape, by_columns, dtype = _READERS[version](file)
    if dtype.hasobject:
        raise InputError(
            f'The array "{name}" contains Python objects, which could run code when they are'
            " loaded. Save texts as numpy.array([...], dtype=str) and numbers as float32."
        )
    return Header(tuple(map(int, shape)), dtype, by_columns, file.tell())


def check_filled(entry: zipfile.ZipInfo, header: Header) -> None:
    """Raise a ValueError if the data of an entry differ in size from what its header states."""
    size = entry.file_size - header.start
    if min(header.shape, default=0) < 0 or header.nbytes != size:
        raise ValueError(f"an array says it has shape {header.shape} but has {size} bytes")


def read_array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header
) -> npt.NDArray[Any]:
    """Read a whole array, read-only.

    Raises:
        ValueError: The data of the entry differ in size from what its header states.
    """
    check_filled(entry, header)
    flat = np.frombuffer(unpack_entry(archive, entry), header.dtype, offset=header.start)
    return flat.reshape(header.shape, order="F" if header.by_columns else "C")


def read_rows(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header
) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of an array in order, several at a time, as arrays [R, X].

    Raises:
        ValueError: The data of the entry differ in size from what its header states.
    """
    check_filled(entry, header)
    width = header.shape[-1]
    row_bytes = width * header.dtype.itemsize
    left = prod(header.shape[:-1])
    with archive.open(entry) as file:
        file.read(header.start)
        while left:
            count = min(left, max(1, BLOCK_BYTES // row_bytes))
            content = file.read(count * row_bytes)
            if len(content) != count * row_bytes:
                raise ValueError(f"an array ends {count * row_bytes - len(content)} bytes early")
            yield np.frombuffer(content, header.dtype).reshape(count, width)
            left -= count
        # Read to the end, because zipfile compares the checksum only there.
        file.read(1)

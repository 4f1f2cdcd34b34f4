"""Entries of npz archives: what an array is by its header, then its numbers, a few rows at a time.

Files come from strangers. `read_array` and `read_rows` unpack an entry only if it is as large as
its header says.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.archive import unpacked
from areaviz.trace.errors import InputError

HEADER_BYTES = 10_000 + 12
"""Of an array's header with its marks; NumPy refuses longer ones too."""
BLOCK_BYTES = 2**22
"""About so much of an entry is unpacked at a time."""
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True, slots=True)
class Header:
    """What an entry says of itself: its shape, type and order, and where its numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    start: int

    @property
    def nbytes(self) -> int:
        """The bytes of its numbers."""
        return prod(self.shape) * self.dtype.itemsize


def read_header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Header:
    """The header of an entry.

    Raises:
        InputError: it is of an unknown version, or holds Python objects.
        ValueError: there is no such header.
    """
    name = entry.filename.removesuffix(".npy")
    file = io.BytesIO(unpacked(archive, entry, HEADER_BYTES))
    version = np.lib.format.read_magic(file)
    if version not in _READERS:
        raise InputError(
            f'The array "{name}" is of an unknown npy version; save it anew with numpy.savez.'
        )
    shape, by_columns, dtype = _READERS[version](file)
    if dtype.hasobject:
        raise InputError(
            f'The array "{name}" holds Python objects, which could run code when they are opened; '
            "save texts as numpy.array([...], dtype=str) and numbers as float32."
        )
    return Header(tuple(map(int, shape)), dtype, by_columns, file.tell())


def check_filled(entry: zipfile.ZipInfo, header: Header) -> None:
    """Refuse, with a ValueError, an entry that is not as large as its header says, to the byte."""
    if min(header.shape, default=0) < 0 or header.nbytes != entry.file_size - header.start:
        raise ValueError(
            f"an array says it has shape {header.shape} but has {entry.file_size - header.start}"
            " bytes"
        )


def read_array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header
) -> npt.NDArray[Any]:
    """A whole array, read-only; ValueError where the entry is not as large as its header says."""
    check_filled(entry, header)
    flat = np.frombuffer(unpacked(archive, entry), header.dtype, offset=header.start)
    return flat.reshape(header.shape, order="F" if header.by_columns else "C")


def read_rows(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header
) -> Iterator[npt.NDArray[Any]]:
    """The rows of an array along its last axis, in order, some at a time: [R, X]; ValueError as
    `read_array`.
    """
    check_filled(entry, header)
    width = header.shape[-1]
    row_bytes = width * header.dtype.itemsize
    left = prod(header.shape[:-1])
    with archive.open(entry) as file:
        file.read(header.start)
        while left:
            count = min(left, max(1, BLOCK_BYTES // row_bytes))
            yield np.frombuffer(_exactly(file, count * row_bytes), header.dtype).reshape(
                count, width
            )
            left -= count
        file.read(1)  # at its end the entry's checksum is compared


def _exactly(file: io.BufferedIOBase | Any, size: int) -> bytes:
    """So many bytes; ValueError where the entry ends before."""
    content = bytes(file.read(size))
    if len(content) != size:
        raise ValueError(f"an array ends {size - len(content)} bytes early")
    return content

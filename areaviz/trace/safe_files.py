"""Safe reading and writing of files: whole or not at all, private, and checked before use.

The first part writes files. The second part reads untrusted npz archives.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import BackendError, InputError

# Write files of the app whole or not at all, keep them private, and move damaged ones aside.


# Modes of files and folders that the app stores. Other users of the machine cannot read them.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write `content` to a temporary file next to `path`, then move it to `path` in one step.

    Args:
        path: Path of the file.
        content: The whole content.
        mode: Mode of the file before the umask of the process is applied.

    Raises:
        BackendError: The disk is full, or the folder is missing or read-only. No new file is left
            behind, and an existing file at `path` is unchanged.
    """
    with (
        write_whole_file(path) as draft,
        os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file,
    ):
        file.write(content)


@contextmanager
def write_whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and move the file written there to `path`.

    If the block fails, an existing file at `path` is unchanged.

    Raises:
        BackendError: The disk is full, or the folder is missing or read-only.
    """
    draft = path.with_name(f".{uuid4().hex}.part")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path} could not be written ({reason}). Free some space or choose another"
            " folder, then save again."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write readable JSON, whole or not at all. A list of numbers or texts takes one line.

    Raises:
        TypeError: JSON cannot represent the value.
        ValueError: The value contains a number that is not finite.
        BackendError: See `write_whole`.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, (_LIST.sub(_join_lines, text) + "\n").encode())


# Matches a list that contains neither lists nor objects. JSON texts cannot contain line breaks, so
# every line break separates two entries.
_LIST = re.compile(r"\[\n([^\[\]{}]*)\n *\]")


def _join_lines(found: re.Match[str]) -> str:
    items = [line.strip() for line in found[1].split("\n")]
    return f"[{' '.join(items)}]"


def make_private_folder(path: Path) -> None:
    """Create a private folder and its missing parents. Existing folders are left unchanged."""
    for folder in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            if not folder.is_dir():
                folder.mkdir(PRIVATE_FOLDER)


def find_aside_name(path: Path, why: str) -> Path:
    """Return an unused name next to `path`.

    It consists of the name of `path`, the reason, the time and a random part.
    """
    return path.with_name(
        f"{path.name}.{why}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
    )


def set_aside(path: Path, *companions: Path) -> Path:
    """Rename a damaged file to an unused name, and return that name.

    If the app crashes during the call, each file has its old name, its new name, or both.

    Args:
        path: The file.
        companions: Files that belong to the file. Their names start with its name. They are renamed
            as well.

    Raises:
        OSError: A file cannot be renamed. `path` keeps its name.
    """
    aside = find_aside_name(path, "damaged")
    # Unlike a rename, a link fails if the name exists.
    os.link(path, aside)
    for one in companions:
        os.link(one, aside.with_name(aside.name + one.name.removeprefix(path.name)))
    for one in (*companions, path):
        one.unlink()
    return aside


# Safe reading of untrusted npz archives.
#
# The headers give the contents of an archive before anything is unpacked. Nothing is allocated for
# an archive or an array that is larger than its header states or larger than the limits.
#
# Shapes: R rows of an array along its last axis, X numbers per row.


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

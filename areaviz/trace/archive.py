"""npz archives of strangers: what they hold is known from headers, before anything is unpacked or
allocated.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import BinaryIO

from areaviz.trace.errors import InputError

MAX_BYTES = 512 * 2**20
MAX_DIRECTORY_BYTES = 2**16
_END_OF_DIRECTORY = struct.Struct("<4s4H2LH")


def check_archive(
    file: BinaryIO,
    refusal: str = "The file is not a trace; choose a trace that this app has saved.",
    most: int | None = None,
) -> None:
    """Refuse what is no zip archive, one of more than `most` bytes (512 MiB), or with a list of
    contents without end.

    Raises:
        InputError: it is none, with the sentence `refusal`, or too large.
        BadZipFile: it is damaged, or larger than such files can be.
    """
    size = file.seek(0, io.SEEK_END)
    check_size(size, most or MAX_BYTES, "The file")
    length = min(size, _END_OF_DIRECTORY.size + 20)
    file.seek(size - length)
    tail = file.read(length)
    file.seek(0)
    if file.read(4) != b"PK\x03\x04":
        raise InputError(refusal)
    file.seek(0)
    if len(tail) < _END_OF_DIRECTORY.size:
        raise zipfile.BadZipFile
    magic, *_, directory_bytes, _, comment_bytes = _END_OF_DIRECTORY.unpack(
        tail[-_END_OF_DIRECTORY.size :]
    )
    if magic != b"PK\x05\x06" or comment_bytes or tail.startswith(b"PK\x06\x07"):
        raise zipfile.BadZipFile
    check_size(directory_bytes, MAX_DIRECTORY_BYTES, "The file's list of contents")


def unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int | None = None) -> bytes:
    """The bytes of an entry, or the first `most` of them: never more than its header says.

    Raises:
        ValueError: it is packed by bz2 or lzma, which would unpack more at once.
    """
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f'"{entry.filename}" is packed in a way that traces do not use')
    with archive.open(entry) as file:
        return file.read(entry.file_size if most is None else min(most, entry.file_size))


def check_size(size: int, limit: int, what: str) -> None:
    """Refuse what takes more than `limit` bytes with an InputError."""
    if size > limit:
        raise InputError(
            f"{what} takes {size / 2**20:,.1f} MiB but at most {limit / 2**20:,.4g} MiB are"
            " possible; make a trace of a shorter text or a smaller model."
        )

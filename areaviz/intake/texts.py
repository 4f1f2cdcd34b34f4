"""Decoding of text files, line by line, as UTF-8 or as UTF-16 with a byte order mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from areaviz.intake.columns import MAX_ROW_CHARACTERS
from areaviz.trace.errors import MAX_UPLOAD_MEGABYTES, InputError, shorten

MAX_MEGABYTES = MAX_UPLOAD_MEGABYTES
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UTF_8_MARK = b"\xef\xbb\xbf"


def read_bytes(name: str, content: bytes | Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        InputError: the file is too large, or cannot be read.
    """
    try:
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        if size > MAX_MEGABYTES << 20:
            raise InputError(
                f'"{shorten(name)}" has {size >> 20:,} MB, but the limit is {MAX_MEGABYTES} MB.'
                " Split the file."
            )
        return content.read_bytes() if isinstance(content, Path) else content
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(
            f'"{shorten(name)}" cannot be read ({error.strerror}). Check the file.'
        ) from error


def decode_lines(name: str, data: bytes) -> Iterator[str]:
    """Yield the lines of a text with their line breaks, without a byte order mark.

    Each line is decoded separately, because the whole text could take 200 MB of memory.

    Raises:
        InputError: the file has another encoding, contains NUL bytes, or has a line that is too
            long.
    """
    data = _convert_to_utf_8(name, data)
    for number, part in enumerate(_LINE.finditer(data), 1):
        raw = part[0]
        # A character takes at most four bytes.
        check_row(name, number, len(raw) // 4)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" is not UTF-8. Save the file as UTF-8.'
            ) from error
        if "\0" in line:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" contains a zero byte, so the file is not a'
                " text. Choose another file."
            )
        yield line.removeprefix("\ufeff") if number == 1 else line


def iterate_plain_lines(name: str, data: bytes) -> Iterator[str]:
    """Yield the lines of a text without line breaks. A final line break adds no line.

    Raises:
        InputError: see `decode_lines`.
    """
    for line in decode_lines(name, data):
        yield line.rstrip("\r\n")


def decode_text(name: str, data: bytes) -> str:
    """Return the whole text of a file.

    Raises:
        InputError: the file has another encoding or contains NUL bytes.
    """
    data = _convert_to_utf_8(name, data).removeprefix(_UTF_8_MARK)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f'Line {line:,} of "{shorten(name)}" is not UTF-8. Save the file as UTF-8.'
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f'Line {line:,} of "{shorten(name)}" contains a zero byte, so the file is not a text.'
            " Choose another file."
        )
    return text


def check_row(name: str, number: int, characters: int) -> None:
    """Check that a row is not too long, before it is parsed.

    Args:
        name: the name of the file, for errors.
        number: the line in which the row ends, from 1.
        characters: the smallest possible number of characters of the row.

    Raises:
        InputError: the row is too long.
    """
    if characters > MAX_ROW_CHARACTERS:
        raise InputError(
            f'The row that ends in line {number:,} of "{shorten(name)}" has more than'
            f" {MAX_ROW_CHARACTERS:,} characters, which is the limit. Shorten or remove it."
        )


def _convert_to_utf_8(name: str, data: bytes) -> bytes:
    """Return UTF-16 text, which Excel writes, as UTF-8. Return other bytes unchanged."""
    if not data.startswith(_UTF_16):
        return data
    try:
        return data.decode("utf-16").encode("utf-8")
    except UnicodeDecodeError as error:
        unit = "\n".encode("utf-16-be" if data.startswith(b"\xfe\xff") else "utf-16-le")
        line = data.count(unit, 0, error.start) + 1
        raise InputError(
            f'Line {line:,} of "{shorten(name)}" is not UTF-16, although the file begins like it.'
            " Save the file as UTF-8."
        ) from error

"""Reading of Excel files (.xlsx). Only the first sheet with rows is read, with a header on top."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time

from areaviz.intake.columns import (
    MAX_ROWS,
    Column,
    TextBudget,
    check_header,
    make_columns_from_rows,
    make_too_many_error,
)
from areaviz.trace.errors import InputError, shorten

MAX_UNPACKED = 256 * 2**20
MAX_RATIO = 150
"""Maximum ratio of unpacked to packed size. Sheets of texts unpack to 5 to 20 times their size."""
# Files of fewer bytes count as this large. They may have a higher ratio, because the parts that
# every file has dominate them.
_SMALLEST = 2**16
_CHUNK = 2**20
_SHARED_TEXT = re.compile(rb"<si\b.*?</si>", re.DOTALL)
_SHARED_CELL = re.compile(rb'<c\b[^>]*\bt="s"[^>]*>\s*<v>(\d{1,9})</v>')
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")


def read_spreadsheet(name: str, data: bytes) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Read the columns of the first non-empty sheet.

    Returns:
        The columns, and a note if further sheets are not used.

    Raises:
        InputError: the file is damaged, unpacks to too many bytes, or has no usable sheet.
    """
    check_unpacked(name, data)
    from python_calamine import CalamineWorkbook

    with _translate_damage_errors(name):
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for title in book.sheet_names:
            sheet = book.get_sheet_by_name(title)
            rows = sheet.to_python(skip_empty_area=True)
            if rows:
                break
        else:
            raise InputError(f'"{shorten(name)}" has no sheet with cells. Choose another file.')
        first = (sheet.start or (0, 0))[0] + 1
    others = [f'"{shorten(other)}"' for other in book.sheet_names if other != title]
    notes: tuple[str, ...] = ()
    if others:
        notes = (f'The sheet "{shorten(title)}" is read. Not used: {", ".join(others)}.',)
    return _make_columns(name, rows, first), notes


def _make_columns(name: str, rows: Sequence[Sequence[object]], first: int) -> tuple[Column, ...]:
    header = [_format_cell(value).strip() for value in rows[0]]
    check_header(name, header)
    budget = TextBudget(name)
    kept = []
    for values in rows[1:]:
        cells = [_format_cell(value) for value in values]
        if not any(cells):
            continue
        budget.add(cells)
        kept.append(cells)
        if len(kept) > MAX_ROWS:
            raise make_too_many_error(name, MAX_ROWS, "rows")
    return make_columns_from_rows(name, header, kept, first + 1)


def _format_cell(value: object) -> str:
    """Return the value of a cell as text. Whole numbers have no decimal point."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)


def check_unpacked(name: str, data: bytes) -> None:
    """Check that an archive does not unpack to too many bytes, even with a wrong table of contents.

    The sizes in the table are checked first. Then each entry is unpacked in pieces, and their bytes
    are counted. A sheet can also refer to one long shared text in millions of cells, so the lengths
    of all cells are added up before the texts are created.

    Raises:
        InputError: the archive is damaged or unpacks to too many bytes.
    """
    most = min(MAX_UNPACKED, MAX_RATIO * max(len(data), _SMALLEST))
    unpacked = 0
    sizes: list[int] = []
    cells: Counter[int] = Counter()
    with _translate_damage_errors(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        _check_size(name, sum(entry.file_size for entry in entries), most)
        for entry in entries:
            is_shared = entry.filename == "xl/sharedStrings.xml"
            is_sheet = _SHEET.fullmatch(entry.filename) is not None
            content = bytearray()
            with archive.open(entry) as file:
                while piece := file.read(_CHUNK):
                    unpacked += len(piece)
                    _check_size(name, unpacked, most)
                    if is_shared or is_sheet:
                        content += piece
            if is_shared:
                sizes = [len(text) for text in _SHARED_TEXT.findall(content)]
            elif is_sheet:
                cells.update(map(int, _SHARED_CELL.findall(content)))
    spread = sum(sizes[at] * count for at, count in cells.items() if at < len(sizes))
    _check_size(name, spread, MAX_UNPACKED)


def _check_size(name: str, size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f'"{shorten(name)}" unpacks to more than {most >> 20:,} MB, which is the limit for a'
            " file of its size. Save the sheet as CSV."
        )


@contextmanager
def _translate_damage_errors(name: str) -> Iterator[None]:
    """Raise all errors that damaged files cause in the libraries as InputError.

    `zipfile` and zlib raise many types of errors. The library calamine is written in Rust, and a
    panic in Rust raises an error that is not a subclass of `Exception`.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise InputError(
            f'"{shorten(name)}" cannot be read as a spreadsheet ({shorten(str(error))}). Save it'
            " again as .xlsx or as CSV."
        ) from error

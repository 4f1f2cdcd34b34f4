"""Reading of one file into columns: Excel, Parquet, rated outputs, and the choice of format.

`read_file` in the last section chooses the reader for a file.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path, PurePosixPath
from typing import Any

from areaviz.media.formats import is_medium
from areaviz.sets.pearmut import is_annotations, is_campaign, read_annotations, read_campaign
from areaviz.sets.rated_outputs import (
    RatedSegment,
    is_comet_json,
    is_comet_output,
    make_columns_from_segments,
    read_comet_json,
    read_comet_output,
)
from areaviz.sets.roles import (
    MAX_COLUMNS,
    MAX_ROW_CHARACTERS,
    MAX_ROWS,
    NAMED_ROLES,
    SCORE,
    Column,
    Content,
    TextBudget,
    check_header,
    is_missing,
    make_columns_from_rows,
    make_too_many_error,
    number_of,
)
from areaviz.sets.text_files import (
    check_row,
    iterate_plain_lines,
    make_columns_from_json,
    make_columns_from_objects,
    parse_json,
    parse_json_object,
    read_bytes,
    read_delimited,
    read_json_lines,
)
from areaviz.sets.wmt import is_wmt_ratings, read_wmt_ratings
from areaviz.trace.errors import InputError, shorten

# Reading of Excel files (.xlsx). Only the first sheet with rows is read, with a header on top.


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


# Reading of Parquet files by pyarrow, in pieces that are too small to fill the memory.


_ROWS_OF_A_PIECE = 500


def read_parquet(name: str, data: bytes) -> tuple[Column, ...]:
    """Read the columns of a Parquet file. Nested columns get dotted names, such as "text.en".

    Raises:
        InputError: the file is damaged, has too many rows or columns, or unpacks to more than
            `MAX_UNPACKED` bytes. The error is also raised if pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f'"{shorten(name)}" is a Parquet file, which needs pyarrow. Install pyarrow or save the'
            " file as JSON Lines."
        ) from error
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        _check_footer(name, file.metadata)
        texts = [field.path for field in map(file.schema.column, range(len(file.schema)))]
        file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)
        objects: list[dict[str, Any]] = []
        spread = 0
        for piece in file.iter_batches(batch_size=_ROWS_OF_A_PIECE):
            spread += sum(_measure_expanded_size(arrow, column) for column in piece.columns)
            if spread > MAX_UNPACKED:
                raise _make_too_large_error(name)
            objects += piece.to_pylist()
            if len(objects) > MAX_ROWS:
                raise make_too_many_error(name, MAX_ROWS, "rows")
    except InputError:
        raise
    except Exception as error:  # pyarrow raises many kinds for files that are damaged
        reason = shorten(str(error).splitlines()[0]) if str(error) else "damaged"
        raise InputError(
            f'"{shorten(name)}" cannot be read as Parquet ({reason}). Save it again, or as JSON'
            " Lines."
        ) from error
    return make_columns_from_objects(name, objects)


def _check_footer(name: str, footer: Any) -> None:
    if footer.num_rows > MAX_ROWS:
        raise make_too_many_error(name, MAX_ROWS, "rows")
    if footer.num_columns > MAX_COLUMNS:
        check_header(name, [str(number) for number in range(footer.num_columns)])
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        raise _make_too_large_error(name)


def _measure_expanded_size(arrow: Any, column: Any) -> int:
    """Return the number of bytes of a column if every row has its own copy of its text.

    A Parquet file can store a long text once and refer to it in every row.
    """
    if not arrow.types.is_dictionary(column.type):
        return int(column.nbytes)
    from pyarrow import compute

    lengths = compute.binary_length(column.dictionary)
    return int(compute.sum(lengths.take(column.indices)).as_py() or 0)


def _make_too_large_error(name: str) -> InputError:
    return InputError(
        f'"{shorten(name)}" unpacks to more than {MAX_UNPACKED >> 20:,} MB, which is the limit.'
        " Split the file."
    )


# The kinds of JSON files with rated outputs.
#
# To add a kind, write a function that reads it and add a line to `KINDS`.


Entry = tuple[str, Any]
# In some files, each rating of a segment has its own line.
_MAX_LINES = 5 * MAX_ROWS


@dataclass(frozen=True, slots=True)
class RatedKind:
    """A kind of file with rated outputs."""

    # The name of the kind for users.
    title: str
    # Returns whether the first object of a file is of this kind.
    fits: Callable[[object], bool]
    # Returns the segments of a file. Its arguments are the name of the file, and the objects in it,
    # each with its place for error messages.
    read: Callable[[str, Sequence[Entry]], list[RatedSegment]]


KINDS = (
    RatedKind("human evaluation of WMT", is_wmt_ratings, read_wmt_ratings),
    RatedKind("campaign of Pearmut", is_campaign, read_campaign),
    RatedKind("annotations of Pearmut", is_annotations, read_annotations),
    RatedKind("comet-score JSON", is_comet_json, read_comet_json),
)


def find_rated_kind(value: object) -> RatedKind | None:
    """Return the kind of a file with rated outputs, found by its first object, or None."""
    for kind in KINDS:
        if kind.fits(value):
            return kind
    return None


def read_rated(name: str, data: bytes) -> list[RatedSegment] | None:
    """Read a JSON or JSON Lines file with rated outputs, or return None for other files.

    Raises:
        InputError: the file is not JSON, is damaged or is too large.
    """
    first = parse_first_object(name, data)
    if first is not None:
        kind = find_rated_kind(first)
        return read_rated_lines(name, data, kind) if kind else None
    value = parse_json(name, data)
    kind = find_rated_kind(value)
    return read_rated_value(name, value, kind) if kind else None


def read_rated_value(name: str, value: object, kind: RatedKind) -> list[RatedSegment]:
    """Return the segments of a JSON file, given its whole value."""
    return kind.read(name, [(f'"{shorten(name)}"', value)])


def read_rated_lines(name: str, data: bytes, kind: RatedKind) -> list[RatedSegment]:
    """Return the segments of a JSON Lines file."""
    return kind.read(name, _iterate_entries(name, data))


def parse_first_object(name: str, data: bytes) -> dict[str, Any] | None:
    """Return the object in the first line, or None if the file is not JSON Lines.

    A line beyond the length limit is not parsed, because it could fill the memory.
    """
    start, _, _ = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if len(start) > MAX_ROW_CHARACTERS:
        return None
    try:
        return parse_json_object(name, 1, start.decode("utf-8", "replace"))
    except InputError:
        return None


def _iterate_entries(name: str, data: bytes) -> list[Entry]:
    """Return the objects of JSON Lines, each with its place for error messages."""
    found = []
    for number, line in enumerate(iterate_plain_lines(name, data), 1):
        if number > _MAX_LINES:
            raise make_too_many_error(name, _MAX_LINES, "lines")
        if line.strip():
            check_row(name, number, len(line))
            found.append(
                (f'Line {number:,} of "{shorten(name)}"', parse_json_object(name, number, line))
            )
    return found


# Reading of one file into columns. Its content determines the format, and otherwise its name.


FORMATS = (
    "Tables (CSV, TSV, JSON, JSON Lines, Excel, Parquet), test sets of WMT (XML, SGM), the output"
    " of comet-score, and texts with one example per line, such as my.en, my.de and my.hyp.txt. You"
    " can choose several files at once. Add the pictures, sounds (WAV, FLAC, Ogg, MP3, AIFF) or"
    " clips (GIF, WebP, animated PNG) that a table names, or choose only such files."
)
"""The supported formats, as a text for users."""
CSV, TSV, LINES, MARKED = "CSV", "TSV", "text with one example per line", "errors marked by raters"
# Extensions of files that are not read, although they often come with datasets. A text may have any
# other extension.
_OTHERS = frozenset(
    (
        *(".npz", ".npy", ".gz", ".bz2", ".xz", ".tar", ".7z", ".rar", ".html", ".htm", ".pt"),
        *(".pkl", ".safetensors", ".xls", ".xlsb", ".pdf", ".doc", ".docx", ".odt", ".ods"),
        *(".rtf", ".pptx", ".feather", ".arrow"),
    )
)
# Columns by which a table of marked errors is recognised, in the formats of MQM and Marot.
_MARKED = frozenset(("system", "doc", "rater", "severity"))
# Keys by which a file of marked errors is recognised that this app exported.
_OWN_MARKED = frozenset(("dataset", "model", "rater", "output", "spans"))
_BEGINNING = 65_536
_ARRAY = re.compile(rb'\s*\[\s*\{\s*"')
_SGM = re.compile(rb"\s*(?:<!doctype[^>]*>\s*)?<(?:srcset|refset|tstset|mteval)\b", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml|!doctype|dataset\b)", re.IGNORECASE)
_DELIMITED: Mapping[str, str] = {CSV: ",", TSV: "\t"}
# Number of lines of a corpus to show. The rest of the corpus is read only to count its words.
_SHOWN_LINES = 3


def read_file(name: str, content: bytes | Path) -> Content:
    """Read one file into columns.

    Args:
        name: the file, without folders.
        content: the file's bytes, or its path.

    Raises:
        InputError: the format of the file is not supported, or the file is damaged or too large.
    """
    ending = PurePosixPath(name).suffix.lower()
    if ending in _OTHERS:
        raise InputError(
            f'"{shorten(name)}" is a {ending} file, which cannot be read. Save the examples as CSV,'
            " JSON Lines, .xlsx or plain text."
        )
    data = read_bytes(name, content)
    kind = _find_kind(name, ending, data)
    if kind in _DELIMITED:
        columns = read_delimited(name, data, _DELIMITED[kind], NAMED_ROLES)
        is_marked = {column.name.lower() for column in columns} >= _MARKED
        return Content(MARKED if is_marked else kind, columns, has_marks=is_marked)
    return _READERS[kind](name, data)


def read_beginning(name: str, content: bytes | Path) -> Content:
    """Read the first lines of a corpus for display. The corpus may have any size."""
    if isinstance(content, Path):
        with content.open("rb") as file:
            start = file.read(_BEGINNING)
    else:
        start = content[:_BEGINNING]
    lines = []
    for line in start.splitlines()[:_SHOWN_LINES]:
        lines.append(line.decode("utf-8", "replace"))
    return Content(LINES, (Column(name, tuple(lines), file=name),), is_plain=True)


def _find_kind(name: str, ending: str, data: bytes) -> str:
    """Return the kind of a file by its first bytes, and otherwise by its extension.

    Args:
        name: the name of the file, for errors.
        ending: its extension in lower case, such as ".csv".
        data: its content.
    """
    start = data[:_BEGINNING].removeprefix(b"\xef\xbb\xbf")
    if start.startswith(b"PK\x03\x04"):
        if b"xl/" not in data or ending == ".zip":
            raise InputError(
                f'"{shorten(name)}" is a packed folder. Unpack it and choose the files inside.'
            )
        return "Excel"
    if start.startswith(b"PAR1"):
        return "Parquet"
    if _SGM.match(start) and ending != ".xml":
        return "SGM"
    if _XML.match(start):
        return "SGM" if ending in (".sgm", ".sgml") else "XML"
    if is_comet_output(start):
        return "comet-score"
    found = _BY_ENDING.get(ending, "")
    if found not in ("JSON", "JSON Lines"):
        if start.lstrip().startswith(b"{") and _is_object(start.lstrip().splitlines()[0]):
            return "JSON Lines"
        if _ARRAY.match(start):
            return "JSON"
    if found:
        return found
    return _find_table_kind(start) or LINES


def _is_object(line: bytes) -> bool:
    try:
        parse_json_object("", 1, line.decode("utf-8", "replace"))
    except InputError:
        return False
    return True


def _find_table_kind(start: bytes) -> str:
    """Return the kind of a table by its first line, or "" for any other text.

    The line counts as a header if it contains at least two names in `NAMED_ROLES`.
    """
    encoding = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = start[: len(start) // 2 * 2].decode(encoding, "replace")
    first = re.split("[\r\n]", text, maxsplit=1)[0]
    for kind, separator in (*_DELIMITED.items(), (CSV, ";")):
        cells = [cell.strip(' "').lower() for cell in first.split(separator)]
        if sum(cell in NAMED_ROLES for cell in cells) > 1:
            return kind
    return ""


def _read_plain(name: str, data: bytes) -> Content:
    """Read a text with one value per line.

    If all lines except the first are numbers, the file has scores, and the first line names them.
    """
    lines: list[str] = []
    budget = TextBudget(name)
    for line in iterate_plain_lines(name, data):
        budget.add((line,))
        lines.append(line)
        if len(lines) > MAX_ROWS + 1:
            raise make_too_many_error(name, MAX_ROWS, "lines")
    rest = lines[1:]
    has_numbers = any(number_of(line) is not None for line in rest)
    if has_numbers and not _is_number(lines[0]) and all(map(_is_number, rest)):
        column = Column(name, tuple(rest), SCORE, file=name, first_line=2, metric=lines[0].strip())
        return Content(LINES, (column,), is_plain=True)
    if len(lines) > MAX_ROWS:
        raise make_too_many_error(name, MAX_ROWS, "lines")
    return Content(LINES, (Column(name, tuple(lines or [""]), file=name),), is_plain=True)


def _is_number(text: str) -> bool:
    return number_of(text) is not None or is_missing(text)


def _read_excel(name: str, data: bytes) -> Content:

    columns, notes = read_spreadsheet(name, data)
    return Content("Excel", columns, notes)


def _read_parquet(name: str, data: bytes) -> Content:

    return Content("Parquet", read_parquet(name, data))


def _read_xml(name: str, data: bytes) -> Content:
    from areaviz.sets.wmt import read_wmt_xml

    return Content("WMT XML", read_wmt_xml(name, data))


def _read_sgm(name: str, data: bytes) -> Content:
    from areaviz.sets.wmt import read_sgm

    return Content("SGM", read_sgm(name, data))


def _read_json(name: str, data: bytes) -> Content:
    if data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and _has_second_object(data):
        return _read_json_lines(name, data)
    value = parse_json(name, data)
    if kind := find_rated_kind(value):
        return _make_rated_content(name, kind.title, read_rated_value(name, value, kind))
    columns, notes = make_columns_from_json(name, value)
    return Content("JSON", columns, notes)


def _has_second_object(data: bytes) -> bool:
    """Return whether a file called JSON has an object on each line."""
    lines = [line for line in data[:_BEGINNING].splitlines() if line.strip()]
    return len(lines) > 1 and _is_object(lines[0]) and lines[1].lstrip().startswith(b"{")


def _read_json_lines(name: str, data: bytes) -> Content:
    if data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"["):
        return _read_json(name, data)
    first = parse_first_object(name, data)
    if first is not None and first.keys() >= _OWN_MARKED:
        return Content(MARKED, (), has_marks=True)
    if kind := find_rated_kind(first):
        return _make_rated_content(name, kind.title, read_rated_lines(name, data, kind))
    return Content("JSON Lines", read_json_lines(name, data))


def _make_rated_content(name: str, title: str, segments: list[RatedSegment]) -> Content:
    """Return the content of a file with rated outputs."""
    has_marks = any(one for segment in segments for one in segment.ratings.values())
    return Content(title, make_columns_from_segments(name, segments), has_marks=has_marks)


def _read_comet(name: str, data: bytes) -> Content:
    return Content("comet-score", read_comet_output(name, data))


_BY_ENDING: Mapping[str, str] = {
    **{".csv": CSV, ".tsv": TSV, ".json": "JSON", ".jsonl": "JSON Lines", ".ndjson": "JSON Lines"},
    **{".xml": "XML", ".sgm": "SGM", ".sgml": "SGM", ".xlsx": "Excel", ".xlsm": "Excel"},
    ".parquet": "Parquet",
}
_READERS: Mapping[str, Callable[[str, bytes], Content]] = {
    LINES: _read_plain,
    "JSON": _read_json,
    "JSON Lines": _read_json_lines,
    "XML": _read_xml,
    "SGM": _read_sgm,
    "Excel": _read_excel,
    "Parquet": _read_parquet,
    "comet-score": _read_comet,
}


def find_media_beside(path: Path) -> dict[str, Path]:
    """Return the pictures, sounds and clips in the folder of a table by name, or {} for a text."""
    if not is_table_name(path.name):
        return {}
    beside = sorted(one for one in path.parent.iterdir() if one.is_file())
    return {one.name: one for one in beside if is_medium(one.name)}


def is_table_name(name: str) -> bool:
    """Return whether a file is a table or a test set, judging by its extension."""
    return PurePosixPath(name).suffix.lower() in _BY_ENDING and not is_medium(name)

"""Reading of one file into columns. Its content determines the format, and otherwise its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from areaviz.data.metadata import is_missing, number_of
from areaviz.intake.columns import MAX_ROWS, SCORE, Column, Content, TextBudget, make_too_many_error
from areaviz.intake.comet_output import is_comet_output, read_comet_output
from areaviz.intake.csv_files import read_delimited
from areaviz.intake.json_files import (
    make_columns_from_json,
    parse_json,
    parse_json_object,
    read_json_lines,
)
from areaviz.intake.names import NAMED_ROLES
from areaviz.intake.rated_files import (
    find_rated_kind,
    parse_first_object,
    read_rated_lines,
    read_rated_value,
)
from areaviz.intake.rated_outputs import RatedSegment, make_columns_from_segments
from areaviz.intake.texts import iterate_plain_lines, read_bytes
from areaviz.media.formats import is_medium
from areaviz.trace.errors import InputError, shorten

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
    from areaviz.intake.spreadsheets import read_spreadsheet

    columns, notes = read_spreadsheet(name, data)
    return Content("Excel", columns, notes)


def _read_parquet(name: str, data: bytes) -> Content:
    from areaviz.intake.parquet_files import read_parquet

    return Content("Parquet", read_parquet(name, data))


def _read_xml(name: str, data: bytes) -> Content:
    from areaviz.intake.wmt_files import read_wmt_xml

    return Content("WMT XML", read_wmt_xml(name, data))


def _read_sgm(name: str, data: bytes) -> Content:
    from areaviz.intake.wmt_files import read_sgm

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

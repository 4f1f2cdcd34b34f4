"""Data sets from the files that hold them: line-aligned texts, tables, pictures, sounds and clips.

A file is only ever read as text or, by `areaviz/data/media.py`, as a picture, a sound or a clip; no
name in it is opened as a path.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from areaviz.data.example_marks import read_boxes, read_facts, read_links
from areaviz.data.examples import SHOW_PHOTOS, Dataset, Example, Files
from areaviz.data.file_kinds import ending_of, separator_of
from areaviz.data.media import PICTURE, is_medium, medium_of
from areaviz.trace.errors import InputError
from areaviz.trace.limits import MAX_UPLOAD_MEGABYTES, shown

Row = Mapping[str, object]

MAX_EXAMPLES, MAX_MEGABYTES = 20_000, MAX_UPLOAD_MEGABYTES
MAX_LINKS, MAX_BOXES, MAX_TEXT_BYTES = 500_000, 100_000, 96 * 2**20
"""Of all examples together. Texts count as memory: one rare character makes Python use four bytes
for each.
"""
MAX_ROW = 1 << 18
"""Characters of one row of a table; its parts take many times that in memory."""
COLUMNS = {
    "name": ("name", "id"),
    "text": ("text", "source", "sentence", "input", "story", "points"),
    "reference": (
        "reference",
        "references",
        "target",
        "caption",
        "captions",
        "translation",
        "answer",
        "tree",
    ),
    "file": ("file", "filename", "picture", "image", "sound", "audio", "clip", "video"),
    "links": ("links", "alignment"),
    "boxes": ("boxes",),
    "facts": ("facts",),
}
"""What a table's columns may be called, in upper or lower case."""
# Columns by which a table of marked errors is known (`areaviz/notes/marot.py`).
_MAROT = frozenset(("system", "doc", "rater", "severity"))
_NAMES = frozenset(name for names in COLUMNS.values() for name in names)
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def read_lines(
    source: str, files: Files, references: Sequence[str] = (), links: str = ""
) -> Dataset:
    """A set of line-aligned text files.

    Args:
        source: the name of the file with the sources.
        files: all files.
        references: the names of the files with references, one for each set of them.
        links: the name of a file with gold links, whose lines have pairs "3-4" (sure) or "3p4"
            (possible), source word first, both from 0.

    Raises:
        InputError: a file is no UTF-8 text, is too large, or they differ in their number of lines.
    """
    totals = _Totals(source)
    columns = {}
    for name in (source, *references, links):
        if name:
            columns[name] = _column(name, files, totals)
    count = len(columns[source])
    for name, lines in columns.items():
        if len(lines) != count:
            raise InputError(
                f'"{shown(name)}" has {len(lines):,} lines but "{shown(source)}" has {count:,};'
                " line-aligned files need the same number of lines."
            )
    rows = (
        {
            "text": text,
            "reference": [columns[name][i] for name in references],
            "links": columns[links][i] if links else "",
        }
        for i, text in enumerate(columns[source])
    )
    return _dataset(source, rows, {})


def read_table(table: str, files: Files) -> Dataset:
    """A set of a JSON Lines, CSV or TSV file; files it names are looked for among `files`.

    Raises:
        InputError: the file cannot be read, has neither texts nor files, or names one that is not
            there.
    """
    kind = ending_of(table)
    if kind == ".jsonl":
        rows = _json_rows(table, files)
    else:
        rows = _csv_rows(table, files, "\t" if kind == ".tsv" else ",")
    return _dataset(table, rows, files)


def read_files(files: Files) -> Dataset:
    """A set of pictures, sounds or clips alone, by name; InputError where it is a mixture."""
    found = {name: files[name] for name in sorted(files) if is_medium(name)}
    name = f"{medium_of(found) or PICTURE}s"
    return _dataset(name, [{"file": name, "name": name} for name in found], found)


def _too_many(name: str, most: int, what: str) -> InputError:
    return InputError(
        f'"{shown(name)}" has more than the {most:,} {what} that are possible; split it.'
    )


class _Totals:
    """What all examples of a set take together, counted while it is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text_bytes = self.links = self.boxes = 0

    def add_texts(self, *texts: str) -> None:
        """Count texts; InputError where they are too large together."""
        self.text_bytes += sum(map(sys.getsizeof, texts))
        if self.text_bytes > MAX_TEXT_BYTES:
            raise InputError(
                f'The texts of "{shown(self.name)}" take more than the {MAX_TEXT_BYTES >> 20} MB of'
                " memory that are possible; split it."
            )

    def add_marks(self, example: Example) -> None:
        """Count links and boxes; InputError where they are too many together."""
        self.links += len(example.possible)
        self.boxes += len(example.boxes)
        if self.links > MAX_LINKS:
            raise _too_many(self.name, MAX_LINKS, "links")
        if self.boxes > MAX_BOXES:
            raise _too_many(self.name, MAX_BOXES, "boxes")


def _dataset(name: str, rows: Iterable[Row], files: Files) -> Dataset:
    examples: list[Example] = []
    named: dict[str, bytes | Path] = {}
    totals = _Totals(name)
    for number, row in enumerate(rows, 1):
        if number > MAX_EXAMPLES:
            raise _too_many(name, MAX_EXAMPLES, "examples")
        example = _example(f'Line {number:,} of "{shown(name)}"', str(number), row, files)
        totals.add_texts(example.name, example.text, *example.references)
        totals.add_marks(example)
        examples.append(example)
        if example.file:
            named[example.file] = files[example.file]
    if not named and not any(one.text.strip() for one in examples):
        raise InputError(f'"{shown(name)}" has no examples; it needs at least one text or file.')
    medium = medium_of(named)
    kind = SHOW_PHOTOS if medium == PICTURE else ""
    return Dataset(name, tuple(examples), named, kind, medium)


def _example(where: str, number: str, row: Row, files: Files) -> Example:
    """The example of a row; where: the row for people."""

    def text(column: str) -> str:
        return str(row.get(column) or "")

    given = row.get("reference") or ()
    references = given if isinstance(given, list | tuple) else [given]
    file = PurePosixPath(text("file")).name
    if file and file not in files:
        raise InputError(
            f'{where} names the file "{shown(file)}", which is not among those given; add it.'
        )
    sure, possible = read_links(where, text("links"))
    return Example(
        text("name") or number,
        text("text"),
        tuple(str(one) for one in references if str(one).strip()),
        file,
        sure,
        possible,
        read_boxes(where, text("boxes")),
        read_facts(where, text("facts")),
    )


def _json_rows(name: str, files: Files) -> Iterator[Row]:
    for number, line in enumerate(_lines(name, files), 1):
        if not line.strip():
            continue
        _check_row(name, number, len(line))
        yield _renamed(name, json_object(name, number, line))


def json_object(name: str, number: int, line: str) -> dict[str, object]:
    """A line of a JSON Lines file; InputError names the file and the line that is no object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise InputError(
            f'Line {number:,} of "{shown(name)}" is no JSON object; each line must be one, in'
            " braces."
        )
    return row


def _csv_rows(name: str, files: Files, usual: str) -> Iterator[Row]:
    """The rows of a table; usual: what separates its cells where the header does not say."""
    taken = 0
    header = next(_raw_lines(name, files), "")
    _check_row(name, 1, len(header))
    separator = separator_of(header, _NAMES, usual)

    def lines() -> Iterator[str]:
        nonlocal taken
        for number, line in enumerate(_raw_lines(name, files), 1):
            taken += len(line)
            _check_row(name, number, taken)
            yield line

    reader = csv.DictReader(lines(), delimiter=separator)
    try:
        for row in reader:
            taken = 0
            yield _renamed(name, {str(key): value for key, value in row.items()})
    except csv.Error as error:
        raise InputError(
            f'Line {reader.line_num:,} of "{shown(name)}" is no CSV: {error}; mend or remove it.'
        ) from error


def _renamed(name: str, row: Row) -> Row:
    """A row by the keys of COLUMNS; others are passed over."""
    given = {key.strip().lower(): value for key, value in row.items()}
    if given.keys() >= _MAROT:
        raise InputError(
            f'"{shown(name)}" is a TSV of Marot: errors that raters marked, and no set of its own;'
            " choose the set that was judged, and bring the errors in there."
        )
    found: dict[str, object] = dict.fromkeys(COLUMNS)
    for key, names in COLUMNS.items():
        for one in reversed(names):
            if one in given:
                found[key] = given[one]
    if found["text"] is None and found["file"] is None:
        raise InputError(
            f'"{shown(name)}" has the columns {shown(", ".join(row))}; one must be called "text" or'
            ' "file".'
        )
    return found


def _check_row(name: str, number: int, characters: int) -> None:
    """Refuse a long row before it is parsed."""
    if characters > MAX_ROW:
        raise InputError(
            f'The row that ends in line {number:,} of "{shown(name)}" has more than the {MAX_ROW:,}'
            " characters that are possible; mend or remove it."
        )


def read_column(name: str, files: Files) -> list[str]:
    """The lines of a text file by itself, one for each example.

    Raises:
        InputError: it is no UTF-8 text or too large.
    """
    return _column(name, files, _Totals(name))


def _column(name: str, files: Files, totals: _Totals) -> list[str]:
    """The lines of a text file, one for each example; they are counted."""
    found = []
    for line in _lines(name, files):
        totals.add_texts(line)
        found.append(line)
    return found or [""]


def _lines(name: str, files: Files) -> Iterator[str]:
    """The lines of a text file; a break at its end begins no new one.

    Raises:
        InputError: there are too many.
    """
    for number, line in enumerate(_raw_lines(name, files), 1):
        if number > MAX_EXAMPLES:
            raise _too_many(name, MAX_EXAMPLES, "lines")
        yield line.rstrip("\r\n")


def _raw_lines(name: str, files: Files) -> Iterator[str]:
    """The lines of a text file with their breaks."""
    found = files[name]
    size = found.stat().st_size if isinstance(found, Path) else len(found)
    if size > MAX_MEGABYTES << 20:
        raise InputError(
            f'"{shown(name)}" has {size >> 20:,} MB but at most {MAX_MEGABYTES} are possible;'
            " split it."
        )
    data = found.read_bytes() if isinstance(found, Path) else found
    # Each is decoded by itself: the whole as one text takes up to 200 MB.
    for number, part in enumerate(_LINE.finditer(data), 1):
        _check_row(name, number, len(part[0]) // 4)  # a character has at most four bytes
        try:
            line = part[0].decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f'Line {number:,} of "{shown(name)}" is no UTF-8 text; save the file as UTF-8.'
            ) from error
        yield line.removeprefix("\ufeff") if number == 1 else line

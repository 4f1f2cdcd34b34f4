"""Text files: their decoding, CSV and TSV, JSON, and files with one value per line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from areaviz.samples.dataset import LINK
from areaviz.sets.roles import (
    CORPUS,
    LINKS,
    MAX_COLUMNS,
    MAX_ROW_CHARACTERS,
    MAX_ROWS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    Cell,
    Column,
    TextBudget,
    check_header,
    is_missing,
    make_columns_from_rows,
    make_too_many_error,
    number_of,
)
from areaviz.trace.errors import MAX_UPLOAD_MEGABYTES, InputError, shorten

# Decoding of text files, line by line, as UTF-8 or as UTF-16 with a byte order mark.


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


# Reading of CSV and TSV files.
#
# Every row must have as many cells as the header. No cell is dropped, and none is added.


SEPARATORS = (",", ";", "\t")
MAX_LINES_OF_A_CELL = 50
"""Maximum number of lines in a cell. In a longer cell, a closing quotation mark must be missing."""
# Excel can write the separator into a line before the header.
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
# Maximum number of lines in a file. MAX_ROWS does not limit blank lines, which are not rows.
_MAX_LINES = 50 * MAX_ROWS
# Number of lines whose memory is added up in one call. One call per line would take as long as
# decoding the lines.
_COUNTED_TOGETHER = 64
Rows = Sequence[Sequence[str]]


def read_delimited(
    name: str, data: bytes, usual: str, known: Collection[str]
) -> tuple[Column, ...]:
    """Read the columns of a CSV or TSV file.

    Args:
        name: the name of the file, for errors.
        data: its content.
        usual: the separator that the file's name suggests.
        known: known names of columns in lower case. They help to recognise the separator.

    Raises:
        InputError: a row has more or fewer cells than the header, a quotation mark is not closed,
            or the header cannot be used.
    """
    lines = _split_lines(name, data)
    at = 0
    separator = ""
    if lines and (found := _SEPARATOR_LINE.fullmatch(lines[0])):
        separator, at = found[1], 1
    if not any(line.strip() for line in lines[at:]):
        raise InputError(f'"{shorten(name)}" is empty. Choose a file with a header and rows.')
    header_line = lines[at]
    separator = separator or find_separator(header_line, known, usual)
    if header_line.count(separator) >= 2 * MAX_COLUMNS and '"' not in header_line:
        check_header(name, header_line.split(separator))
    rows = _split_unquoted_rows(lines[at:]) if separator == "\t" else None
    if rows is None:
        numbered = list(_iterate_quoted_rows(name, lines, at, separator))
    else:
        numbered = [(number, row) for number, row in enumerate(rows, 1) if row is not None]
    header = [title.strip() for title in numbered[0][1]]
    check_header(name, header)
    kept = _check_rows(name, header, numbered[1:])
    return make_columns_from_rows(name, header, kept, numbered[0][0] + 1)


def find_separator(header: str, known: Collection[str], usual: str) -> str:
    """Return the separator of a table's cells.

    Spreadsheets write ";" in locales with a decimal comma, and still call the file CSV. The chosen
    separator gives the most known names. Among equally good separators it is the usual one. If the
    usual separator does not occur, it is the most frequent one.

    Args:
        header: the first line of the table.
        known: names of columns, in lower case.
        usual: the separator that the file's name suggests.
    """
    best, best_rank = usual, (0, False, 0)
    for separator in SEPARATORS:
        cells = next(csv.reader([header], delimiter=separator), [])
        names = sum(cell.strip().lower() in known for cell in cells)
        rank = (names if len(cells) > 1 else 0, separator == usual and len(cells) > 1, len(cells))
        if len(cells) > 1 and rank > best_rank:
            best, best_rank = separator, rank
    return best


def _split_lines(name: str, data: bytes) -> list[str]:
    found, budget = [], TextBudget(name)
    for number, line in enumerate(decode_lines(name, data), 1):
        if number > _MAX_LINES:
            raise make_too_many_error(name, MAX_ROWS, "rows")
        found.append(line)
        if number % _COUNTED_TOGETHER == 0:
            budget.add(found[-_COUNTED_TOGETHER:])
    return found


def _check_rows(
    name: str, header: Sequence[str], numbered: Sequence[tuple[int, Sequence[str]]]
) -> Rows:
    kept = []
    for number, row in numbered:
        if not any(row):
            continue
        if len(row) != len(header):
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" has {len(row):,} cells, but the header names'
                f" {len(header):,} columns. If a text contains the separator, put the text in"
                " quotation marks or separate the cells by tabs."
            )
        kept.append(row)
        if len(kept) > MAX_ROWS:
            raise make_too_many_error(name, MAX_ROWS, "rows")
    return kept


def _split_unquoted_rows(lines: Sequence[str]) -> list[list[str] | None] | None:
    """Return the cells of each line, split at tabs, or None for a blank line.

    Return None instead of the list if the lines have no tabs or different numbers of tabs. A quoted
    cell may then contain a tab or a line break. Otherwise a quotation mark is an ordinary
    character, because tab-separated files are seldom quoted. The exception is a file in which all
    quotation marks look as if a program had written them.
    """
    tabs = lines[0].count("\t")
    if not tabs:
        return None
    rows: list[list[str] | None] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if text and text.count("\t") != tabs:
            return None
        rows.append(text.split("\t") if text else None)
    # Headers are seldom quoted, even if rows are.
    cells = [cell for row in rows[1:] if row for cell in row]
    if not _is_quoted_by_a_program(cells):
        return rows
    return [[_without_quotes(cell) for cell in row] if row else None for row in rows]


def _is_quoted_by_a_program(cells: Sequence[str]) -> bool:
    """Return whether all quotation marks in the cells look as if a program had written them.

    Some programs quote all texts. Other programs quote only texts that contain a quotation mark,
    and write this mark twice. Excel also quotes texts with a comma.
    """
    with_marks = [cell for cell in cells if '"' in cell]
    if not with_marks or not all(map(_is_well_quoted, with_marks)):
        return False
    without = [cell for cell in cells if cell and '"' not in cell]
    if not any(any(letter.isalpha() for letter in cell) for cell in without):
        return True
    doubled = all('""' in cell[1:-1] for cell in with_marks)
    needed = all('""' in cell[1:-1] or "," in cell for cell in with_marks)
    return doubled or (needed and not any("," in cell for cell in without))


def _is_well_quoted(cell: str) -> bool:
    is_whole = len(cell) > 1 and cell[0] == cell[-1] == '"'
    return is_whole and '"' not in cell[1:-1].replace('""', "")


def _without_quotes(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if _is_well_quoted(cell) else cell


def _iterate_quoted_rows(
    name: str, lines: Sequence[str], at: int, separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a table with the number of its first line, counted from 1."""
    begun, taken = at, 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for number, line in enumerate(lines[at:], at + 1):
            taken += len(line)
            check_row(name, number, taken)
            if number - begun > MAX_LINES_OF_A_CELL:
                raise InputError(
                    f'Line {begun + 1:,} of "{shorten(name)}" has a quotation mark that does not'
                    f" close within {MAX_LINES_OF_A_CELL} lines. Close it, or write it twice."
                )
            yield line

    reader = csv.reader(counted(), delimiter=separator, strict=True)
    try:
        for row in reader:
            yield begun + 1, row
            begun, taken = at + reader.line_num, 0
    except csv.Error as error:
        raise InputError(
            f'Line {begun + 1:,} of "{shorten(name)}" cannot be read as CSV ({error}). If a text'
            " contains quotation marks, write each of them twice and put the text in quotation"
            " marks."
        ) from error


# JSON and JSON Lines: one object per example, with dots in the names of nested values.


# Maximum number of characters that start or separate values. Each value takes about 60 bytes.
_MAX_VALUES = MAX_ROWS * MAX_COLUMNS
_MAX_NESTED = 20


def read_json_lines(name: str, data: bytes) -> tuple[Column, ...]:
    """Read the columns of a JSON Lines file.

    Raises:
        InputError: a line is not an object, or there are too many lines.
    """
    objects, numbers = [], []
    for number, line in enumerate(iterate_plain_lines(name, data), 1):
        if number > MAX_ROWS * 2:
            raise make_too_many_error(name, MAX_ROWS, "lines")
        if not line.strip():
            continue
        check_row(name, number, len(line))
        objects.append(parse_json_object(name, number, line))
        numbers.append(number)
    return make_columns_from_objects(name, objects, numbers[0] if numbers else 1)


def parse_json_object(name: str, number: int, line: str) -> dict[str, Any]:
    """Return the object in a line of JSON Lines.

    Raises:
        InputError: the line is not one object.
    """
    where = f'Line {number:,} of "{shorten(name)}"'
    found = _parse_text(where, line)
    if not isinstance(found, dict):
        raise InputError(f"{where} is not a JSON object. Write one object in braces on each line.")
    return found


def parse_json(name: str, data: bytes) -> Any:
    """Return the value in a JSON file.

    Raises:
        InputError: the file is not JSON, or has too many values.
    """
    if data.count(b"[") + data.count(b"{") + data.count(b",") > _MAX_VALUES:
        raise make_too_many_error(name, _MAX_VALUES, "values")
    return _parse_text(f'"{shorten(name)}"', decode_text(name, data))


def make_columns_from_json(name: str, found: Any) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Return the columns of a JSON file: an array of objects, or an object with lists.

    If all values of an object are lists of texts or numbers, they are columns. Otherwise the
    object must contain one list of objects.

    Args:
        name: the name of the file, for errors.
        found: the parsed JSON value.

    Returns:
        The columns, and a note if a part of the file is not used.

    Raises:
        InputError: the value has another structure.
    """
    notes: list[str] = []
    if isinstance(found, dict):
        found = _list_entries_of_object(name, found, notes)
    if not isinstance(found, list):
        raise InputError(
            f'"{shorten(name)}" is a single value. Write a list with an object for each example.'
        )
    for number, entry in enumerate(found, 1):
        if not isinstance(entry, dict):
            raise InputError(
                f'Entry {number:,} of "{shorten(name)}" is not an object. Write each example as an'
                " object in braces."
            )
    return make_columns_from_objects(name, found), tuple(notes)


def _list_entries_of_object(name: str, found: Mapping[str, Any], notes: list[str]) -> list[Any]:
    lists = [key for key, value in found.items() if _is_list_of_objects(value)]
    if len(lists) == 1:
        others = [f'"{shorten(key)}"' for key in found if key != lists[0]]
        if others:
            notes.append(
                f'The examples of "{shorten(name)}" are its list "{shorten(lists[0])}". Not used:'
                f" {', '.join(others)}."
            )
        return list(found[lists[0]])
    if found and all(isinstance(value, list) for value in found.values()) and not lists:
        lengths = {len(value) for value in found.values()}
        if len(lengths) > 1:
            raise InputError(
                f'The lists of "{shorten(name)}" have {min(lengths):,} to {max(lengths):,} entries.'
                " Give every list one entry for each example."
            )
        rows = zip(*found.values(), strict=True)
        return [dict(zip(found, row, strict=True)) for row in rows]
    if len(lists) > 1:
        raise InputError(
            f'"{shorten(name)}" has several lists of objects'
            f" ({', '.join(map(shorten, lists[:9]))}). Keep only the list with the examples."
        )
    return [found]


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def make_columns_from_objects(
    name: str, objects: Sequence[Mapping[str, Any]], first_line: int = 1
) -> tuple[Column, ...]:
    """Return the columns of objects. A missing value becomes None.

    Args:
        name: the name of the file, for errors.
        objects: one per example.
        first_line: the line of the first object, from 1.

    Raises:
        InputError: there are too many objects or names, or no objects.
    """
    if len(objects) > MAX_ROWS:
        raise make_too_many_error(name, MAX_ROWS, "entries")
    header: dict[str, None] = {}
    rows: list[Mapping[str, Any]] = []
    budget = TextBudget(name)
    for one in objects:
        row = _flatten_object(one) if dict in set(map(type, one.values())) else one
        rows.append(row)
        if row.keys() == header.keys():
            continue
        header |= dict.fromkeys(row)
        if len(header) > MAX_COLUMNS:
            check_header(name, [*header])
    if not rows:
        raise InputError(f'"{shorten(name)}" has no entries. Choose a file with examples.')
    check_header(name, [*header])
    columns = []
    for title in header:
        values = [row.get(title) for row in rows]
        is_text = set(map(type, values)) == {str}
        cells = tuple(values) if is_text else tuple(map(_make_cell, values))
        budget.add(cell for cell in cells if isinstance(cell, str))
        columns.append(Column(title or "column", cells, file=name, first_line=first_line))
    return tuple(columns)


def _flatten_object(value: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """Return the values of nested objects under dotted names, such as "translation.en"."""
    found: dict[str, Any] = {}
    for key, one in value.items():
        name = f"{before}{key}"
        if isinstance(one, dict) and depth < _MAX_NESTED and one:
            found |= _flatten_object(one, f"{name}.", depth + 1)
        else:
            found[name] = one
    return found


def _make_cell(value: object) -> Cell:
    """Convert a JSON value to a cell.

    A list of texts becomes a tuple of texts. Other lists and objects become JSON.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number_text(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _number_text(value: float) -> str:
    try:
        return str(value)
    except ValueError:
        # Python refuses to write integers of more than 4,300 digits.
        return "nan"


def _parse_text(where: str, text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except _NameTwice as error:
        raise InputError(
            f'{where} has the name "{shorten(str(error))}" twice in one object. Rename one of them.'
        ) from error
    except (ValueError, RecursionError) as error:
        reason = f"{error}" if isinstance(error, json.JSONDecodeError) else "too deeply nested"
        raise InputError(f"{where} is not a JSON object ({reason}). Check the file.") from error


class _NameTwice(ValueError):
    """An object has two values with one name."""


def _without_doubles(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    given = list(pairs)
    found = dict(given)
    if len(found) < len(given):
        names = [name for name, _ in given]
        raise _NameTwice(next(name for name in names if names.count(name) > 1))
    return found


# One decoder for all lines, because `json.loads` would create a new one for every line.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_doubles)


# Guesses of the role of plain files, which have one value per line and no header.


_SOURCE = frozenset(("en", "eng", "english", "src", "source"))
_REFERENCE = frozenset(("ref", "refs", "reference", "references", "gold", "human", "target", "tgt"))
_OUTPUT = frozenset(
    ("output", "outputs", "hyp", "hyps", "hypothesis", "mt", "system", "sys", "pred", "translated")
)
_METADATA = frozenset(("domain", "domains", "doc", "docs", "docid", "docids", "genre", "meta"))
_SYSTEMS = ("sys", "model")
_SCORES = ("score", "comet", "bleurt", "metricx")
_LINKS = ("align", "link")
_CORPUS = ("corpus", "train")
_ENDINGS = frozenset(("txt", "text", "tok", "raw", "out", "lst"))


def is_corpus_name(name: str) -> bool:
    """Return whether a name suggests a corpus for word frequencies."""
    return any(part in name.lower() for part in _CORPUS)


def is_score_name(name: str) -> bool:
    """Return whether a name suggests a file with scores of outputs."""
    return any(part in name.lower() for part in _SCORES)


def guess_plain_roles(
    columns: Sequence[Column], has_source: bool, systems: Collection[str] = ()
) -> list[Column]:
    """Return plain files in the roles that their names and cells suggest.

    Args:
        columns: one column per file.
        has_source: whether another file has the sources.
        systems: systems that a table of scores names. A file with such a name has outputs.
    """
    if len(columns) == 1 and not has_source and not is_corpus_name(columns[0].name):
        # If there is only one file, it is the input, even if it contains numbers.
        return [replace(columns[0], role=SOURCE)]
    found = [_guess_role_alone(column, systems) for column in columns]
    texts = [at for at, column in enumerate(found) if column.role == METADATA and column.is_sure]
    texts = [at for at in texts if not _is_known_metadata(found[at])]
    if not texts:
        return found
    if not has_source:
        source = _find_source(found, texts)
        # The guess is certain if there is only one text, or if its name says that it is a source.
        is_sure = len(texts) == 1 or bool(_split_name(found[source].name) & _SOURCE)
        found[source] = replace(found[source], role=SOURCE, is_sure=is_sure)
        texts.remove(source)
        stem = _find_stem(found[source].name)
    else:
        stem = ""
    for at, role, is_sure in _guess_target_roles(found, texts, stem):
        system = found[at].name if role == OUTPUT else ""
        found[at] = replace(found[at], role=role, system=system, is_sure=is_sure)
    return found


def _guess_role_alone(column: Column, systems: Collection[str]) -> Column:
    """Return a file in the role that its own name and cells suggest, or as metadata."""
    if column.role != METADATA:
        return column
    name = column.name
    if name in systems:
        return replace(column, role=OUTPUT, system=name)
    texts = [text for text in column.texts if text.strip()]
    if is_corpus_name(name):
        return replace(column, role=CORPUS)
    if texts and all(map(_is_number, texts)) and any(number_of(one) is not None for one in texts):
        return replace(column, role=SCORE, is_sure=True)
    is_named_links = any(part in name.lower() for part in _LINKS)
    if is_named_links or (texts and all(map(_has_links, texts))):
        return replace(column, role=LINKS)
    return column


def _is_number(text: str) -> bool:
    return number_of(text) is not None or is_missing(text)


def _has_links(text: str) -> bool:
    return all(LINK.fullmatch(part) for part in text.split())


def _is_known_metadata(column: Column) -> bool:
    return bool(_split_name(column.name) & _METADATA)


def _find_source(columns: Sequence[Column], texts: Sequence[int]) -> int:
    for at in texts:
        if _split_name(columns[at].name) & _SOURCE:
            return at
    return texts[0]


def _guess_target_roles(
    columns: Sequence[Column], texts: Sequence[int], stem: str
) -> list[tuple[int, str, bool]]:
    """Return for each text except the source its index, its role, and whether this is certain.

    The words in a file's name decide first. Otherwise a file named like the source, such as
    "test.de" for "test.en", is a reference. If there is a reference, the remaining files are
    outputs.

    Args:
        columns: one column per file.
        texts: indices of the texts in `columns`.
        stem: the source's name without its language, or "".
    """
    found: dict[int, tuple[str, bool]] = {}
    for at in texts:
        words = _split_name(columns[at].name)
        name = columns[at].name.lower()
        if words & _OUTPUT or "output" in name or "hyp" in name:
            found[at] = OUTPUT, True
        elif words & _REFERENCE:
            found[at] = REFERENCE, True
        elif any(word.startswith(_SYSTEMS) for word in words):
            found[at] = OUTPUT, False
    is_named = any(role == REFERENCE for role, _ in found.values())
    for at in texts:
        if at not in found and stem and _find_stem(columns[at].name) == stem:
            found[at] = REFERENCE, not is_named
    has_reference = any(role == REFERENCE for role, _ in found.values())
    rest = [at for at in texts if at not in found]
    for at in rest:
        # Without any hint, a single text is the reference.
        role = OUTPUT if has_reference else REFERENCE
        found[at] = role, len(rest) == 1 and not has_reference
    return [(at, *found[at]) for at in texts]


def _split_name(name: str) -> set[str]:
    """Return the words of a file's name without trailing numbers, such as "ref" for "ref2"."""
    parts = re.split(r"[._\- ]+", PurePosixPath(name).name.lower())
    return {part.rstrip("0123456789") for part in parts}


def _find_stem(name: str) -> str:
    """Return a file's name up to its language, such as "newstest" for "newstest.de.txt"."""
    parts = PurePosixPath(name).name.split(".")
    while len(parts) > 1 and (parts[-1].lower() in _ENDINGS or parts[-1].isdigit()):
        parts.pop()
    return ".".join(parts[:-1]) if len(parts) > 1 else parts[0]

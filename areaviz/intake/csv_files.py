"""Reading of CSV and TSV files.

Every row must have as many cells as the header. No cell is dropped, and none is added.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence

from areaviz.intake.columns import (
    MAX_COLUMNS,
    MAX_ROWS,
    Column,
    TextBudget,
    check_header,
    make_columns_from_rows,
    make_too_many_error,
)
from areaviz.intake.texts import check_row, decode_lines
from areaviz.trace.errors import InputError, shorten

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

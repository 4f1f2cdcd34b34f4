"""Scores of outputs that another tool gave, such as COMET: columns of a file, a line an example."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from areaviz.data.example_files import json_object, read_column
from areaviz.data.examples import Files
from areaviz.data.file_kinds import ending_of
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

# A value for each example, NaN where there is none.
Values = tuple[float, ...]
# What a column is called that its file gives no name.
UNNAMED = "Score"
MAX_COLUMNS = 40
# Columns that count examples and say nothing of them.
_COUNTS = frozenset(("id", "index", "number", "name", "example", "segment", "line"))
_MISSING = frozenset(("", "nan", "na", "n/a", "none", "null"))
_SEPARATORS = ("\t", ";", ",")


def scores_of(
    names: Sequence[str], files: Files, systems: Sequence[str], count: int
) -> list[dict[str, Values]]:
    """The scores of each system, by their names.

    A file whose name begins like a system's ("one.comet.txt" and "one.txt") has that system's
    scores; the others are those of the systems that have none yet, in order.

    Args:
        names: of the files of scores.
        files: all files.
        systems: what systems are called, most often by the files of their outputs.
        count: examples of the set.

    Raises:
        InputError: a file has no scores, or they are those of no system or of other examples.
    """
    found: list[dict[str, Values]] = [{} for _ in systems]
    for name, system in zip(names, _systems(names, systems), strict=True):
        usual = _rest(name, systems[system]) or UNNAMED
        found[system] |= read_scores(name, files, count, usual)
    return found


def read_scores(name: str, files: Files, count: int, usual: str = UNNAMED) -> dict[str, Values]:
    """The columns of numbers of a file: a text with a number a line, or a table with a header.

    A column without any number is text of another kind, and passed over.

    Args:
        name: of the file.
        files: all files.
        count: lines it must have, without a header.
        usual: the name of a column without a header.

    Raises:
        InputError: it has no scores, a score is no number, or there are not as many as examples.
    """
    header, rows, first = _table(name, read_column(name, files), usual)
    columns = {}
    for at, title in enumerate(header):
        cells = [row[at] for row in rows]
        if title.lower() not in _COUNTS and any(_number(cell) is not None for cell in cells):
            columns[title] = cells
    if not columns:
        raise InputError(
            f'"{shown(name)}" has no column of numbers; give a number a line, or a table whose'
            " header names the scores."
        )
    if len(rows) != count:
        raise InputError(
            f'"{shown(name)}" has {len(rows):,} lines of scores but the set has {count:,}'
            " examples; scores need one line for each example, in the same order."
        )
    return {title: _values(name, title, cells, first) for title, cells in columns.items()}


def _table(name: str, lines: Sequence[str], usual: str) -> tuple[list[str], list[list[str]], int]:
    """The header of a file, its rows, each as long as the header, and the line of the first."""
    if ending_of(name) == ".jsonl":
        return *_json_table(name, lines), 1
    separator = max(_SEPARATORS, key=lines[0].count)
    try:
        rows = list(csv.reader(lines, delimiter=separator))
    except csv.Error as error:
        raise InputError(f'"{shown(name)}" is no table: {error}; mend it.') from error
    header = [cell.strip() for cell in rows[0]]
    if len(header) == 1 and _is_score(header[0]):
        header, first = [usual], 1
    else:
        rows, first = rows[1:], 2
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f'"{shown(name)}" has {len(header):,} columns but at most {MAX_COLUMNS} are possible;'
            " leave out those that are no scores."
        )
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise InputError(
                f'Row {number:,} of "{shown(name)}" has {len(row)} cells but its header'
                f" {len(header)}; mend or remove it."
            )
    return header, [[*row, *[""] * (len(header) - len(row))] for row in rows], first


def _json_table(name: str, lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    rows = [json_object(name, number, line) for number, line in enumerate(lines, 1)]
    header = list(dict.fromkeys(title for row in rows for title in row))
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f'"{shown(name)}" has {len(header):,} names of values but at most {MAX_COLUMNS} are'
            " possible; leave out those that are no scores."
        )
    return header, [[_cell(row.get(title)) for title in header] for row in rows]


def _cell(value: object) -> str:
    """A value of JSON as a table would have it."""
    return "" if value is None else str(value)


def _values(name: str, title: str, cells: Sequence[str], first: int) -> Values:
    """The numbers of a column; first: the line of its first cell."""
    found = []
    for line, cell in enumerate(cells, first):
        value = _number(cell)
        if value is None and not _is_score(cell):
            raise InputError(
                f'Line {line:,} of "{shown(name)}" has "{shown(cell.strip())}" as its'
                f" {shown(title)}, which is no number; fix it or leave it empty."
            )
        found.append(math.nan if value is None else value)
    return tuple(found)


def _number(cell: str) -> float | None:
    """A finite number, None for anything else."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _is_score(cell: str) -> bool:
    """Whether a cell has a number, or says that there is none."""
    return _number(cell) is not None or cell.strip().lower() in _MISSING


def _systems(names: Sequence[str], systems: Sequence[str]) -> list[int]:
    """Which system's scores each file has."""
    named = [_named(name, systems) for name in names]
    free = [number for number in range(len(systems)) if number not in named]
    found = []
    for name, system in zip(names, named, strict=True):
        if system is None and not free:
            raise InputError(
                f'"{shown(name)}" has the scores of no system; give a file of scores for each of:'
                f" {', '.join(map(shown, systems))}."
            )
        found.append(free.pop(0) if system is None else system)
    return found


def _named(name: str, systems: Sequence[str]) -> int | None:
    """The system that the name of a file begins with, the longest of several."""
    fitting = [one for one in range(len(systems)) if _rest(name, systems[one]) is not None]
    return max(fitting, key=lambda one: len(systems[one]), default=None)


def _rest(name: str, system: str) -> str | None:
    """What a file's name has after a system's, without its ending; None where it has another."""
    stem, start = PurePosixPath(name).stem, PurePosixPath(system).stem
    if not stem.startswith(start):
        return None
    rest = stem[len(start) :]
    return re.sub(r"^[._\- ]+", "", rest) if not rest or rest[0] in "._- " else None

"""JSON and JSON Lines: one object per example, with dots in the names of nested values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from areaviz.intake.columns import (
    MAX_COLUMNS,
    MAX_ROWS,
    Cell,
    Column,
    TextBudget,
    check_header,
    make_too_many_error,
)
from areaviz.intake.texts import check_row, decode_text, iterate_plain_lines
from areaviz.trace.errors import InputError, shorten

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

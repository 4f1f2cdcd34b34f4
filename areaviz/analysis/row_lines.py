"""The lines of an analysis' file: a header, then one row an example, each a JSON object of its own.

The JSON is ASCII: half of a surrogate pair, which a model can write, has no UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from areaviz.trace.errors import InputError

# Of the form of the file and of what is measured: rows of two versions are never mixed.
VERSION = 4
# What Python raises for JSON that is no header or no row.
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Header:
    """What was run on what; the options are those of `Request`."""

    # The set's name and digest.
    dataset: str
    digest: str
    # The model's name and its card's digest: rows of a retrained model are never mixed with older.
    model: str
    card: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0
    # The mark of who began it (`areaviz/ui/shell/reader.py`), "" for the command line. It is the
    # same analysis whoever began it.
    reader: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one example."""

    # Its place in the set, from 0.
    index: int
    output: str = ""
    # Why there is no output, one sentence, else "".
    error: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    # With gold links, how many were made, sure, made and sure, made and possible.
    links: tuple[int, int, int, int] | None = None


class Lines(NamedTuple):
    """What a file holds."""

    version: int
    header: Header
    # By index; of an example that has two rows, the last.
    rows: dict[int, Row]
    # The numbers of lines that are no rows, from 1.
    damaged: tuple[int, ...]
    # All other lines, as they stand in the file.
    sound: bytes


class DamagedHeader(InputError):
    """The first line is no header, so nobody knows what the rows are of."""


def header_line(header: Header) -> bytes:
    """The first line of a new file."""
    return _line({"version": VERSION, **asdict(header)})


def row_line(row: Row) -> bytes:
    """The line of a row."""
    return _line(asdict(row))


def read_lines(content: bytes, name: str) -> Lines:
    """What a file of this or an older version holds; a torn last line is no line yet.

    Args:
        content: of the file.
        name: of the file, for the sentences of errors.

    Raises:
        DamagedHeader: the first line cannot be read.
        InputError: the file is of a newer version.
    """
    first, *rest = content.split(b"\n")
    version, header = read_header(first if rest else b"", name)
    rows, damaged, sound = {}, [], [first]
    for number, line in enumerate(rest[:-1], 2):
        if not line:
            continue
        try:
            row = row_of(json.loads(line))
        except _DAMAGE:
            damaged.append(number)
        else:
            rows[row.index] = row
            sound.append(line)
    return Lines(version, header, rows, tuple(damaged), b"\n".join(sound) + b"\n")


def read_header(line: bytes, name: str) -> tuple[int, Header]:
    """The version and the header of a first line; raises the errors of `read_lines`."""
    sorry = f"{name} is no analysis of this version; choose another file."
    try:
        entries = json.loads(line)
        version = entries.pop("version")
        header = Header(**entries) if version <= VERSION else None
    except _DAMAGE as error:
        raise DamagedHeader(sorry) from error
    if header is None:
        raise InputError(sorry)
    return version, header


def row_of(values: Any) -> Row:
    """A row of what JSON gave for one.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it gave something else.
    """
    links = values["links"]
    row = Row(**{**values, "links": None if links is None else tuple(links)})
    counts = (row.index, *(row.links or ()))
    is_sound = (
        {type(row.output), type(row.error)} == {str}
        # `type`, since True is an instance of int.
        and {type(count) for count in counts} == {int}
        and {type(value) for value in row.measures.values()} <= {int, float}
        and len(counts) in (1, 5)
        and min(counts) >= 0
    )
    if not is_sound:
        raise ValueError("A row has values of other kinds.")
    return row


def _line(values: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(values, separators=(',', ':'))}\n".encode("ascii")

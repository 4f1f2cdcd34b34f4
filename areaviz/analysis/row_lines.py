"""The lines of an analysis' file: a header, then one row an example, each a JSON object that stands
for itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from areaviz.trace.errors import InputError

VERSION = 3
"""Of the form of the file and of what is measured: rows of another version are never mixed with
these.
"""


@dataclass(frozen=True, slots=True)
class Header:
    """What was run on what. dataset, digest: of the set. model: its name. card: the digest of its
    card, so that rows of a retrained model are never mixed with older ones. method, beam,
    area_size, seed: as in `Request`. reader: the mark of who began it
    (`areaviz/ui/shell/reader.py`), "" for the command line; the same analysis whoever began it.
    """

    dataset: str
    digest: str
    model: str
    card: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0
    reader: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Row:
    """One example. index: its place in the set, from 0. error: why there is no output, one
    sentence, else "".

    links: of an example with gold links, how many were made, sure, made and sure, made and
    possible.
    """

    index: int
    output: str = ""
    error: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    links: tuple[int, int, int, int] | None = None


class Lines(NamedTuple):
    """What a file holds. rows: by index; of one that stands there twice, the last. damaged: the
    numbers of lines that are no rows, from 1. sound: all other lines, as they stand there.
    """

    version: int
    header: Header
    rows: dict[int, Row]
    damaged: tuple[int, ...]
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
        except (ValueError, TypeError, KeyError, RecursionError):
            damaged.append(number)
        else:
            rows[row.index] = row
            sound.append(line)
    return Lines(version, header, rows, tuple(damaged), b"".join(line + b"\n" for line in sound))


def read_header(line: bytes, name: str) -> tuple[int, Header]:
    """The version and the header of a first line; raises DamagedHeader and InputError as
    `read_lines`.
    """
    sorry = f"{name} is no analysis of this version; choose another file."
    try:
        head = json.loads(line)
        version = head.pop("version")
        if type(version) is int and version > VERSION:
            raise InputError(sorry)
        return version, Header(**head)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedHeader(sorry) from error


def row_of(values: Mapping[str, Any]) -> Row:
    """A row of what JSON gave for one; raises ValueError, TypeError or KeyError where it gave
    something else.
    """
    links = values["links"]
    row = Row(**{**values, "links": None if links is None else tuple(links)})
    numbers = (row.index, *(row.links or ()))
    sound = (
        all(type(one) is int and one >= 0 for one in numbers)
        and len(numbers) in (1, 5)
        and all(isinstance(one, str) for one in (row.output, row.error))
        and all(type(one) in (int, float) for one in dict(row.measures).values())
    )
    if not sound:
        raise ValueError("A row has values of other kinds.")
    return row


def _line(values: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(values, ensure_ascii=True, separators=(',', ':'))}\n".encode("ascii")

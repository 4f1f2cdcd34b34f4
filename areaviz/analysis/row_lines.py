"""The lines of an analysis file: a header, then one row per example, each a JSON object.

The JSON is ASCII, because a model can write unpaired surrogates, which UTF-8 cannot encode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from areaviz.trace.errors import InputError

# The version of the file format and of the metrics. Rows of two versions are never mixed.
VERSION = 4
# Exceptions that Python raises for JSON that is not a header or a row.
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Header:
    """The model, options and dataset of an analysis. The options are those of `Request`."""

    # The name and digest of the dataset.
    dataset: str
    digest: str
    # The name of the model and the digest of its card. Rows of a retrained model are never mixed
    # with older rows.
    model: str
    card: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0
    # The id of the user who started it (`areaviz/app/run.py`), or "" for the command
    # line. It does not count in comparisons, because an analysis is the same for all users.
    reader: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one example."""

    # Index of the example in the dataset, from 0.
    index: int
    output: str = ""
    # One sentence that says why there is no output, "" if there is one.
    error: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    # With gold alignments, the number of alignments made and of sure gold alignments, then the
    # number of made ones that are sure and of made ones that are possible.
    links: tuple[int, int, int, int] | None = None


class Lines(NamedTuple):
    """The content of an analysis file."""

    version: int
    header: Header
    # Rows by index. If an example has two rows, this is the last one.
    rows: dict[int, Row]
    # Numbers of lines that are not valid rows, from 1.
    damaged: tuple[int, ...]
    # The bytes of all valid lines.
    sound: bytes


class DamagedHeader(InputError):
    """An error for a first line that is not a header, so that the rows have no known analysis."""


def format_header(header: Header) -> bytes:
    """Return the first line of a new file."""
    return _format_line({"version": VERSION, **asdict(header)})


def format_row(row: Row) -> bytes:
    """Return the line of a row."""
    return _format_line(asdict(row))


def read_lines(content: bytes, name: str) -> Lines:
    """Parse a file of this version or an older one. An incomplete last line is ignored.

    Args:
        content: the content of the file.
        name: the name of the file, for error messages.

    Raises:
        DamagedHeader: the first line cannot be read.
        InputError: a newer version of the app wrote the file.
    """
    first, *rest = content.split(b"\n")
    version, header = read_header(first if rest else b"", name)
    rows, damaged, sound = {}, [], [first]
    for number, line in enumerate(rest[:-1], 2):
        if not line:
            continue
        try:
            row = parse_row(json.loads(line))
        except _DAMAGE:
            damaged.append(number)
        else:
            rows[row.index] = row
            sound.append(line)
    return Lines(version, header, rows, tuple(damaged), b"\n".join(sound) + b"\n")


def read_header(line: bytes, name: str) -> tuple[int, Header]:
    """Return the version and the header of a first line. Errors are those of `read_lines`."""
    sorry = f"{name} is not an analysis of this version. Choose another file."
    try:
        entries = json.loads(line)
        version = entries.pop("version")
        header = Header(**entries) if version <= VERSION else None
    except _DAMAGE as error:
        raise DamagedHeader(sorry) from error
    if header is None:
        raise InputError(sorry)
    return version, header


def parse_row(values: Any) -> Row:
    """Return the row that parsed JSON describes.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: the JSON does not describe a row.
    """
    links = values["links"]
    row = Row(**{**values, "links": None if links is None else tuple(links)})
    counts = (row.index, *(row.links or ()))
    is_sound = (
        {type(row.output), type(row.error)} == {str}
        # Compare types, because True is an instance of int.
        and {type(count) for count in counts} == {int}
        and {type(value) for value in row.measures.values()} <= {int, float}
        and len(counts) in (1, 5)
        and min(counts) >= 0
    )
    if not is_sound:
        raise ValueError("A row has values of other kinds.")
    return row


def _format_line(values: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(values, separators=(',', ':'))}\n".encode("ascii")

"""The rows of an analysis in a file that grows: JSON Lines, a header first, then a line an example.

A line is written whole and brought to the disk before it counts as done; a torn last line, left by a crash, is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from areaviz.trace.errors import InputError

VERSION = 2
"""Of the form of the file and of what is measured: rows of another version are never mixed with these."""


@dataclass(frozen=True, slots=True)
class Header:
    """What was run on what. dataset, digest: of the set. model: its name. card: the digest of its card, so that rows of
    a retrained model are never mixed with older ones. method, beam, area_size, seed: as in `Request`."""

    dataset: str
    digest: str
    model: str
    card: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One example. index: its place in the set, from 0. error: why there is no output, one sentence, else "".

    links: of an example with gold links, how many were made, sure, made and sure, made and possible.
    """

    index: int
    output: str = ""
    error: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    links: tuple[int, int, int, int] | None = None


class RowFile:
    """The rows of one analysis in a file; opened to read what is there, and to add to it."""

    def __init__(self, path: Path, header: Header, rows: dict[int, Row]) -> None:
        self.path, self.header, self._rows = path, header, rows

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """A new file, or the rows so far of one with the same header.

        Raises:
            InputError: the file holds another analysis, or is none.
        """
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, [{"version": VERSION, **asdict(header)}])
            return cls(path, header, {})
        there = cls.read(path)
        if there.header != header:
            raise InputError(f"{path.name} holds the analysis of another set, model or option; choose another name.")
        _drop_torn(path)
        return there

    @classmethod
    def read(cls, path: Path) -> Self:
        """The rows of a finished or unfinished analysis; InputError where the file is none."""
        lines = [line for line in path.read_bytes().split(b"\n")[:-1] if line]
        try:
            head, *rest = [json.loads(line) for line in lines]
            if head.pop("version") != VERSION:
                raise ValueError
            rows = [row_of(one) for one in rest]
            return cls(path, Header(**head), {row.index: row for row in rows})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"{path.name} is no analysis of this version; choose another file.") from error

    def __len__(self) -> int:
        """How many rows there are so far."""
        return len(self._rows)

    @property
    def rows(self) -> Mapping[int, Row]:
        """The rows so far, by index."""
        return dict(self._rows)

    def add(self, row: Row) -> None:
        """Write one row; it is on the disk when this returns."""
        _append(self.path, [asdict(row)])
        self._rows[row.index] = row


def row_of(values: Mapping[str, Any]) -> Row:
    """A row of what JSON gave for one."""
    links = values["links"]
    return Row(**{**values, "links": None if links is None else tuple(links)})


def _append(path: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=True, separators=(',', ':'))}\n" for row in rows)
    with path.open("ab") as file:
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def _drop_torn(path: Path) -> None:
    """Cut off what stands behind the last line break."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)

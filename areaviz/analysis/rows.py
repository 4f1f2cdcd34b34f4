"""The rows of an analysis in a file that grows: JSON Lines, a header first, then a line an example.

A line is written whole and brought to the disk before it counts as done; a torn last line, left by a crash, is dropped.
One writer a file, held by a lock of the operating system, which a crash frees; any number of readers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from filelock import BaseFileLock, FileLock, Timeout

from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.files import write_whole

VERSION = 3
"""Of the form of the file and of what is measured: rows of another version are never mixed with these."""

SETTING = "AREAVIZ_ANALYSES"


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


def rows_path(header: Header) -> Path:
    """Where the rows of an analysis lie, named by what is run on what: whoever asks for the same finds them.

    In the folder that the environment variable AREAVIZ_ANALYSES names, else in analyses/ of the working directory.
    """
    digest = hashlib.sha256(repr((VERSION, asdict(header))).encode("utf-8", "surrogatepass")).hexdigest()
    return Path(os.environ.get(SETTING) or "analyses").expanduser() / f"{digest[:24]}.jsonl"


class RowFile:
    """The rows of one analysis in a file; opened to add to it (`open`, until it is closed) or only to look (`read`)."""

    def __init__(self, path: Path, header: Header, rows: dict[int, Row], lock: BaseFileLock | None = None) -> None:
        self.path, self.header, self._rows, self._lock = path, header, rows, lock

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """A new file, or the rows so far of one with the same header; nobody else adds to it until it is closed.

        Raises:
            InputError: the file holds another analysis, is none, or somebody else is adding to it.
            BackendError: the disk is full, or the folder cannot be written to.
        """
        lock = _alone(path)
        try:
            if not path.exists():
                write_whole(path, _lines([{"version": VERSION, **asdict(header)}]))
            there = cls.read(path)
            if there.header != header:
                raise InputError(
                    f"{path.name} holds the analysis of another set, model or option; choose another name."
                )
            _drop_torn(path)
        except BaseException:
            lock.release()
            raise
        return cls(path, header, there._rows, lock)

    def close(self) -> None:
        """Let others add to it; a file that was only read has nothing to close."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        """Write one row; it is on the disk when this returns.

        Raises:
            BackendError: the disk is full or the file cannot be written to; the rows before are kept.
            ValueError: the file was only read, or is closed.
        """
        if self._lock is None:
            raise ValueError(f"{self.path.name} is not open for rows to be added.")
        _append(self.path, _lines([asdict(row)]))
        self._rows[row.index] = row


def row_of(values: Mapping[str, Any]) -> Row:
    """A row of what JSON gave for one."""
    links = values["links"]
    return Row(**{**values, "links": None if links is None else tuple(links)})


def _lines(rows: list[dict[str, Any]]) -> bytes:
    texts = (f"{json.dumps(row, ensure_ascii=True, separators=(',', ':'))}\n" for row in rows)
    return "".join(texts).encode("ascii")


def _alone(path: Path) -> BaseFileLock:
    """The lock of the one writer, in a hidden file beside `path`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), blocking=False, thread_local=False)
        lock.acquire()
    except Timeout:
        raise InputError(
            "This analysis is running already, alone or as one of two; wait for its end or stop it there, then go on."
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from error
    return lock


def _append(path: Path, lines: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BackendError:
    reason = error.strerror or str(error)
    return BackendError(
        f"{path.name} could not be written ({reason}); what was done is kept: free some space, then go on."
    )


def _drop_torn(path: Path) -> None:
    """Cut off what stands behind the last line break."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)

"""The rows of an analysis in a file that grows: JSON Lines, a header first, then a line an example.

A line is written whole and brought to the disk before it counts as done; a torn last line, left by
a crash, is dropped. Lines that are damaged otherwise are told by number and kept beside, under
another name, before the file goes on. One writer a file, held by a lock of the operating system,
which a crash frees; any number of readers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Self

from filelock import BaseFileLock, FileLock, Timeout

from areaviz.analysis.row_lines import (
    VERSION,
    DamagedHeader,
    Header,
    Lines,
    Row,
    header_line,
    read_lines,
    row_line,
    row_of,
)
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.files import PRIVATE_FILE, aside_name, private_folder, set_aside, write_whole

__all__ = ["SETTING", "VERSION", "DamagedHeader", "Header", "Row", "RowFile", "analyses_folder", "remove_idle",
           "remove_rows", "row_of", "rows_path"]  # fmt: skip

SETTING = "AREAVIZ_ANALYSES"


def analyses_folder() -> Path:
    """Where analyses are kept: the environment variable AREAVIZ_ANALYSES, else analyses/ in the
    working directory.
    """
    return Path(os.environ.get(SETTING) or "analyses").expanduser()


def rows_path(header: Header) -> Path:
    """Where the rows of an analysis lie, named by what is run on what: whoever asks for the same
    finds them.
    """
    what = {name: value for name, value in asdict(header).items() if name != "reader"}
    digest = hashlib.sha256(repr((VERSION, what)).encode("utf-8", "surrogatepass")).hexdigest()
    return analyses_folder() / f"{digest[:24]}.jsonl"


class RowFile:
    """The rows of one analysis in a file; opened to add to it (`open`, until it is closed) or only
    to look (`read`).

    damaged: the numbers of its lines that cannot be read. aside: where the file was kept as it was,
    before the rest went on without them, else None.
    """

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path, self.header, self.version, self.damaged = (
            path,
            lines.header,
            lines.version,
            lines.damaged,
        )
        self.aside: Path | None = None
        self._rows = lines.rows
        self._lock: BaseFileLock | None = None

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """A new file, or the rows so far of one with the same header; nobody else adds to it until
        it is closed.

        What is damaged is first kept under another name.

        Raises:
            InputError: the file holds another analysis, is of another version, or somebody else is
                adding to it.
            BackendError: the disk is full, or the folder cannot be written to.
        """
        lock = _alone(path)
        try:
            with _written(path):
                aside = _mended(path, header)
            there = cls.read(path)
            if (there.header, there.version) != (header, VERSION):
                raise InputError(
                    f"{path.name} holds the analysis of another set, model or option; choose"
                    " another name."
                )
            with _written(path):
                _drop_torn(path)
        except BaseException:
            lock.release()
            raise
        there._lock, there.aside = lock, aside
        return there

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
        """The rows of a finished or unfinished analysis, of this or an older version.

        Raises:
            InputError: the file is none, or of a newer version.
            BackendError: the file cannot be read.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"{path.name} could not be read ({reason}); mend that, then try again."
            ) from error
        return cls(path, read_lines(content, path.name))

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
            BackendError: the disk is full or the file cannot be written to; the rows before are
                kept.
            ValueError: the file was only read, or is closed.
        """
        if self._lock is None:
            raise ValueError(f"{self.path.name} is not open for rows to be added.")
        with _written(self.path):
            _append(self.path, row_line(row))
        self._rows[row.index] = row


def remove_rows(path: Path, reader: str) -> None:
    """Delete an analysis, for the reader who began it.

    Raises:
        InputError: it is running, or somebody else began it.
        BackendError: the file cannot be read or deleted.
    """
    lock = _alone(path)
    try:
        if not reader or RowFile.read(path).header.reader != reader:
            raise InputError(
                "Somebody else began this analysis; only they, or who operates this app, can"
                " delete it."
            )
        with _written(path):
            path.unlink()
    finally:
        lock.release()


def remove_idle(path: Path) -> bool:
    """Delete an analysis, whoever began it, unless it is running; returns whether it is gone;
    raises BackendError.
    """
    try:
        lock = _alone(path)
    except InputError:
        return False
    try:
        with _written(path):
            path.unlink(missing_ok=True)
    finally:
        lock.release()
    return True


def _mended(path: Path, header: Header) -> Path | None:
    """Make a new file where there is none, and one without damaged lines where there are any;
    returns where the file with them is kept.
    """
    if not path.exists():
        write_whole(path, header_line(header), PRIVATE_FILE)
        return None
    with suppress(OSError):
        path.chmod(PRIVATE_FILE)  # older ones could be read by others
    try:
        there = read_lines(path.read_bytes(), path.name)
    except DamagedHeader:
        aside = set_aside(path)
        write_whole(path, header_line(header), PRIVATE_FILE)
        return aside
    if not there.damaged or (there.header, there.version) != (header, VERSION):
        return None
    aside = aside_name(path, "damaged")
    os.link(path, aside)
    write_whole(
        path, there.sound, PRIVATE_FILE
    )  # a new file under the old name: the other name keeps the old file
    return aside


def _alone(path: Path) -> BaseFileLock:
    """The lock of the one writer, in a hidden file beside `path`."""
    try:
        with _written(path):
            private_folder(path.parent)
            name = path.with_name(f".{path.name}.lock")
            lock = FileLock(name, blocking=False, thread_local=False, mode=PRIVATE_FILE)
            lock.acquire()
    except Timeout:
        raise InputError(
            "This analysis is running already, alone or as one of two; wait for its end or stop it"
            " there, then go on."
        ) from None
    return lock


def _append(path: Path, line: bytes) -> None:
    """Add a line to a file that is there, or leave it as it was."""
    with path.open("r+b", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(before)  # half a line would damage the next one
            raise


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """What goes wrong in writing, as one sentence."""
    try:
        yield
    except Timeout:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path.name} could not be written ({reason}); what was done is kept: free some space,"
            " then go on."
        ) from error


def _drop_torn(path: Path) -> None:
    """Cut off what stands behind the last line break."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)

"""The rows of an analysis in a file that grows: JSON Lines, a header first, then a line an example.

A line is written whole and brought to the disk before it counts as done; a torn last line, left by
a crash, is dropped. Lines that are damaged otherwise are reported by number, and the file is kept
under another name before it goes on without them. A file has one writer, by a lock of the operating
system, which a crash frees, and any number of readers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Self

from filelock import AcquireReturnProxy, FileLock, Timeout

from areaviz.analysis.row_lines import (
    VERSION,
    DamagedHeader,
    Header,
    Lines,
    Row,
    header_line,
    read_lines,
    row_line,
)
from areaviz.data.places import own_folder
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.files import PRIVATE_FILE, aside_name, private_folder, set_aside, write_whole

SETTING = "AREAVIZ_ANALYSES"


def analyses_folder() -> Path:
    """The folder of analyses: the environment variable AREAVIZ_ANALYSES, else `own_folder`'s."""
    return Path(os.environ.get(SETTING) or own_folder("analyses")).expanduser()


def rows_path(header: Header) -> Path:
    """The file of an analysis, named by what is run on what; who asks for the same finds it."""
    what = asdict(header)
    del what["reader"]
    digest = hashlib.sha256(repr((VERSION, what)).encode("utf-8", "surrogatepass")).hexdigest()
    return analyses_folder() / f"{digest[:24]}.jsonl"


class RowFile:
    """The rows of one analysis: opened to add to them (`open`, until closed) or only read (`read`).

    Attributes:
        damaged: the numbers of its lines that cannot be read.
        aside: the file as it was, where it went on without damaged lines; else None.
    """

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path, self.header, self.version = path, lines.header, lines.version
        self.damaged = lines.damaged
        self.aside: Path | None = None
        self._rows = lines.rows
        self._lock: AcquireReturnProxy[FileLock] | None = None

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """A new file, or one with the same header and its rows so far; nobody else may add to it.

        A file with damaged lines is first kept under another name.

        Raises:
            InputError: the file holds another analysis, is of another version, or somebody else is
                adding to it.
            BackendError: the disk is full, or the folder cannot be written to.
        """
        lock = _locked(path)
        try:
            with _write_errors(path):
                aside = _prepare(path, header)
            file = cls.read(path)
        except BaseException:
            lock.lock.release()
            raise
        file._lock, file.aside = lock, aside
        return file

    def close(self) -> None:
        """Let others add to it; a file that was only read has nothing to close."""
        if self._lock is not None:
            self._lock.lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def read(cls, path: Path) -> Self:
        """The rows of a finished or unfinished analysis, of this or an older version.

        Raises:
            FileNotFoundError: there is no such file.
            InputError: it is no analysis, or of a newer version.
            BackendError: it cannot be read.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"{path.name} could not be read ({reason}); fix that, then try again."
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
        with _write_errors(self.path):
            _append(self.path, row_line(row))
        self._rows[row.index] = row


def remove_rows(path: Path, reader: str) -> None:
    """Delete an analysis, for the reader who began it.

    Raises:
        InputError: it is running, or somebody else began it.
        BackendError: the file cannot be read or deleted.
    """
    with _locked(path), _write_errors(path):
        if not reader or RowFile.read(path).header.reader != reader:
            raise InputError(
                "Somebody else began this analysis; only they, or who operates this app, can"
                " delete it."
            )
        path.unlink()


def remove_idle(path: Path) -> bool:
    """Delete an analysis, whoever began it, unless it is running; returns whether it is gone."""
    try:
        lock = _locked(path)
    except InputError:
        return False
    with lock, _write_errors(path):
        path.unlink(missing_ok=True)
    return True


def _prepare(path: Path, header: Header) -> Path | None:
    """Make the file ready for more rows; returns where it is kept as it was, if it was damaged.

    Raises:
        InputError: it holds another analysis or is of another version.
    """
    if not path.exists():
        write_whole(path, header_line(header), PRIVATE_FILE)
        return None
    with suppress(OSError):
        path.chmod(PRIVATE_FILE)  # older versions let others read it
    content = path.read_bytes()
    try:
        lines = read_lines(content, path.name)
    except DamagedHeader:
        aside = set_aside(path)
        write_whole(path, header_line(header), PRIVATE_FILE)
        return aside
    if (lines.header, lines.version) != (header, VERSION):
        raise InputError(
            f"{path.name} holds the analysis of another set, model or option; choose another name."
        )
    if not lines.damaged:
        os.truncate(path, content.rfind(b"\n") + 1)
        return None
    aside = aside_name(path, "damaged")
    os.link(path, aside)
    # This makes a new file under the old name; the damaged one keeps its other name.
    write_whole(path, lines.sound, PRIVATE_FILE)
    return aside


def _locked(path: Path) -> AcquireReturnProxy[FileLock]:
    """The lock of the one writer, held from now on; it is a hidden file beside `path`.

    Raises:
        InputError: another writer has it.
        BackendError: the folder cannot be written to.
    """
    with _write_errors(path):
        private_folder(path.parent)
        name = path.with_name(f".{path.name}.lock")
        lock = FileLock(name, blocking=False, thread_local=False, mode=PRIVATE_FILE)
        try:
            return lock.acquire()
        except Timeout:
            raise InputError(
                "This analysis is running already, alone or as one of two; wait for its end or stop"
                " it there, then go on."
            ) from None


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
def _write_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong with the disk as BackendError, in one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path.name} could not be written ({reason}); what was done is kept: free some space,"
            " then go on."
        ) from error

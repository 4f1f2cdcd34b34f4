"""The rows of an analysis in a growing JSON Lines file: a header, then one line per example.

A line counts as written once it is complete and on the disk. An incomplete last line, left by a
crash, is dropped. Other damaged lines are reported by number. The original file is then kept under
another name, and the analysis continues without these lines. A file has one writer and any number
of readers. The operating system holds the writer's lock and frees it after a crash.
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
    format_header,
    format_row,
    read_lines,
)
from areaviz.samples.paths import own_folder
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.safe_files import (
    PRIVATE_FILE,
    find_aside_name,
    make_private_folder,
    set_aside,
    write_whole,
)

SETTING = "AREAVIZ_ANALYSES"


def find_analyses_folder() -> Path:
    """Return the folder of analyses, which AREAVIZ_ANALYSES can set."""
    return Path(os.environ.get(SETTING) or own_folder("analyses")).expanduser()


def find_rows_path(header: Header) -> Path:
    """Return the path of an analysis. Its name depends on model, options and dataset only."""
    what = asdict(header)
    del what["reader"]
    digest = hashlib.sha256(repr((VERSION, what)).encode("utf-8", "surrogatepass")).hexdigest()
    return find_analyses_folder() / f"{digest[:24]}.jsonl"


class RowFile:
    """The rows of one analysis, either open for writing (`open`) or only read (`read`).

    Attributes:
        damaged: the numbers of the lines that cannot be read.
        aside: the copy of the original file if damaged lines were dropped, else None.
    """

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path, self.header, self.version = path, lines.header, lines.version
        self.damaged = lines.damaged
        self.aside: Path | None = None
        self._rows = lines.rows
        self._lock: AcquireReturnProxy[FileLock] | None = None

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """Open a file to add rows, and create it if it does not exist.

        Only one writer may do so at a time. A file with damaged lines is first kept under another
        name.

        Raises:
            InputError: the file contains another analysis, has another version, or is being written
                to by another process.
            BackendError: the disk is full, or the folder cannot be written to.
        """
        lock = _acquire_lock(path)
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
        """Let other writers add to the file. This does nothing if the file was only read."""
        if self._lock is not None:
            self._lock.lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the rows of a finished or unfinished analysis of this version or an older one.

        Raises:
            FileNotFoundError: the file does not exist.
            InputError: the file is not an analysis, or a newer version wrote it.
            BackendError: the file cannot be read.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"{path.name} could not be read ({reason}). Fix that, then try again."
            ) from error
        return cls(path, read_lines(content, path.name))

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return len(self._rows)

    @property
    def rows(self) -> Mapping[int, Row]:
        """The rows so far, by index."""
        return dict(self._rows)

    def add(self, row: Row) -> None:
        """Write one row. The row is on the disk when this returns.

        Raises:
            BackendError: the disk is full or the file cannot be written to. Earlier rows are kept.
            ValueError: the file was only read, or is closed.
        """
        if self._lock is None:
            raise ValueError(f"{self.path.name} is not open for rows to be added.")
        with _write_errors(self.path):
            _append_line(self.path, format_row(row))
        self._rows[row.index] = row


def remove_rows(path: Path, reader: str) -> None:
    """Delete an analysis for the user who started it.

    Raises:
        InputError: the analysis is running, or another user started it.
        BackendError: the file cannot be read or deleted.
    """
    with _acquire_lock(path), _write_errors(path):
        if not reader or RowFile.read(path).header.reader != reader:
            raise InputError(
                "Another user started this analysis. Only that user or the operator of this"
                " app can delete it."
            )
        path.unlink()


def remove_idle(path: Path) -> bool:
    """Delete an analysis of any user unless it is running, and return whether it is gone."""
    try:
        lock = _acquire_lock(path)
    except InputError:
        return False
    with lock, _write_errors(path):
        path.unlink(missing_ok=True)
    return True


def _prepare(path: Path, header: Header) -> Path | None:
    """Prepare the file for more rows, and return the path of its copy if it was damaged, else None.

    Raises:
        InputError: the file contains another analysis or has another version.
    """
    if not path.exists():
        write_whole(path, format_header(header), PRIVATE_FILE)
        return None
    with suppress(OSError):
        path.chmod(PRIVATE_FILE)  # files of older versions were readable for other users
    content = path.read_bytes()
    try:
        lines = read_lines(content, path.name)
    except DamagedHeader:
        aside = set_aside(path)
        write_whole(path, format_header(header), PRIVATE_FILE)
        return aside
    if (lines.header, lines.version) != (header, VERSION):
        raise InputError(
            f"{path.name} has the analysis of another set, model or option. Choose another name."
        )
    if not lines.damaged:
        os.truncate(path, content.rfind(b"\n") + 1)
        return None
    aside = find_aside_name(path, "damaged")
    os.link(path, aside)
    # Write a new file under the original name. The damaged file keeps its other name.
    write_whole(path, lines.sound, PRIVATE_FILE)
    return aside


def _acquire_lock(path: Path) -> AcquireReturnProxy[FileLock]:
    """Take the writer's lock, which is a hidden file next to `path`.

    Raises:
        InputError: another writer has the lock.
        BackendError: the folder cannot be written to.
    """
    with _write_errors(path):
        make_private_folder(path.parent)
        name = path.with_name(f".{path.name}.lock")
        lock = FileLock(name, blocking=False, thread_local=False, mode=PRIVATE_FILE)
        try:
            return lock.acquire()
        except Timeout:
            raise InputError(
                "This analysis is already running, alone or as one of two. Wait for its end"
                " or stop it there, then continue."
            ) from None


def _append_line(path: Path, line: bytes) -> None:
    """Append a line to an existing file, or leave the file unchanged if writing fails."""
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
    """Raise errors of the disk as BackendError with one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path.name} could not be written ({reason}). The results so far are kept. Free"
            " some space, then continue."
        ) from error

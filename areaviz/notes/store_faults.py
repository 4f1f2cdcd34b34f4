"""Faults of the store of notes: the recognition of damage, and messages for other faults.

A store counts as damaged only if SQLite reports it as corrupt. A full disk, a lock, a missing file
descriptor or permission, and a disk error are temporary. They must leave the file unchanged.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from areaviz.trace.errors import BackendError
from areaviz.trace.safe_files import set_aside

# Seconds to wait for other programs.
WAITING = 5
# Number of files that opening a store needs at once: the lock, the store, its log and index, and
# two for creating the log and the index.
DESCRIPTORS = 6
# If SQLite only reports a failed write, a disk with fewer free bytes than this counts as full.
SPACE = 1 << 20
# Suffixes of the files that SQLite keeps next to a store: the log and its index.
LOGS = ("-wal", "-shm")
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
# SQLite's error codes that can have several causes.
_UNNAMED = (
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)


class Fault(NamedTuple):
    """A fault of the store, in words for users."""

    # The description that error messages show in brackets.
    what: str
    # The advice, "" if there is none.
    advice: str = ""


FULL = Fault("the database's disk is full", "Free some space")
HELD = Fault("another program has locked the database", "Wait for that program or end it")
MANY = Fault("this process has too many open files", "Raise its limit of open files or restart it")
BARRED = Fault("this user may not read and write the database", "Correct its owner or mode")
SILENT = Fault("the database server does not answer", "Check that it runs and can be reached")
UNREADABLE = Fault("the database's disk could not be read or written", "Check the disk")
# Exceptions of psycopg and its connection pool, by name, because they may not be installed.
_SILENT = ("ConnectionTimeout", "QueryCanceled", "LockNotAvailable", "TimeoutError")
_BY_NUMBER = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EMFILE: MANY,
    errno.ENFILE: MANY,
    errno.EACCES: BARRED,
    errno.EPERM: BARRED,
    errno.EROFS: BARRED,
    errno.EIO: UNREADABLE,
}


def find_fault(error: BaseException, path: Path | None) -> Fault:
    """Return the fault behind an error.

    Args:
        error: an error of the operating system, of SQLite or of a server.
        path: the file of an SQLite store, else None.
    """
    if isinstance(error, OSError):
        unknown = Fault(error.strerror or "another process is opening it")
        return _BY_NUMBER.get(error.errno or 0, unknown)
    if type(error).__name__ in _SILENT:
        return SILENT
    code = _get_error_code(error)
    if code in _HELD:
        return HELD
    if code == sqlite3.SQLITE_FULL:
        return FULL
    fault = _find_fault_of_file(path) if path and code in _UNNAMED else None
    if fault is None and path and code == sqlite3.SQLITE_IOERR:
        fault = UNREADABLE
    lines = str(error).splitlines()
    return fault or Fault(lines[0] if lines else type(error).__name__)


def set_aside_if_damaged(path: Path) -> None:
    """Check an SQLite store. If it is damaged, rename it and its log without changing them.

    Raises:
        BackendError: the store was damaged. The error gives its new name. sqlite3.Error, OSError:
            the store could not be checked for another reason. Nothing was changed.
    """
    if not path.is_file():
        return
    path = path.resolve()
    logs = _list_logs(path)
    # Without a log, the index has no use.
    has_log = logs[0].exists() and logs[0].stat().st_size > 0
    there = [log for log in logs if has_log and log.exists()]
    with closing(sqlite3.connect(path, timeout=WAITING)) as connection:
        if _is_undamaged(connection):
            return
        # The file is renamed while it is open. SQLite then notices the new name and leaves the log
        # alone.
        try:
            aside = set_aside(path, *there)
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"The notes database {path.name} is damaged and could not be renamed"
                f" ({reason}). Nothing was changed. Move it away by hand."
            ) from error
    for log in logs:
        log.unlink(missing_ok=True)  # the check created it
    raise BackendError(
        f"The notes database was damaged and was renamed to {aside.name}. A new one is"
        " created next time."
    )


def _is_undamaged(connection: sqlite3.Connection) -> bool:
    """Return whether a check finds no damage. Raise sqlite3.Error if not all could be read."""
    try:
        if connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
            return True
    except sqlite3.DatabaseError as error:
        if _get_error_code(error) not in _DAMAGE:
            raise
    _read_all(connection)
    return False


def _read_all(connection: sqlite3.Connection) -> None:
    """Raise the disk's error if a page cannot be read. A check would report the page as damaged."""
    try:
        with closing(sqlite3.connect("")) as copy:  # a temporary database
            connection.backup(copy)
    except sqlite3.DatabaseError as error:
        if _get_error_code(error) not in _DAMAGE:
            raise


def _list_logs(path: Path) -> list[Path]:
    return [Path(f"{path}{ending}") for ending in LOGS]


def _get_error_code(error: BaseException) -> int:
    """Return SQLite's primary error code without its extension bits, -1 for other errors."""
    code = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else int(code) & 0xFF


def _find_fault_of_file(path: Path) -> Fault | None:
    """Return the fault behind SQLite's "unable to open" and "I/O error", or None if it is unknown.

    The store itself is not opened, because closing it would release the locks of this process.
    """
    held: list[int] = []
    try:
        while len(held) < DESCRIPTORS:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return MANY
    finally:
        for descriptor in held:
            os.close(descriptor)
    with suppress(OSError):
        if shutil.disk_usage(path.parent).free < SPACE:
            return FULL
    files = [one for one in (path, *_list_logs(path), path.parent) if one.exists()]
    usable = all(os.access(one, os.R_OK | os.W_OK) for one in files)
    return None if usable else BARRED

"""What goes wrong with the store of notes, by name: which faults are damage, and what all others
are called.

Only what SQLite itself calls corrupt is damage. A full disk, a lock, a missing descriptor or right,
an error of the disk pass by, and the file must then be as it was.
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
from areaviz.trace.files import set_aside

WAITING = 5  # seconds, for other programs
DESCRIPTORS = 6
"""Files that an opening needs at once: the lock, the store, its log and index, and what those two
are made by.
"""
SPACE = 1 << 20
"""Bytes below which a disk counts as full where SQLite only says that a file could not be written.
"""
LOGS = ("-wal", "-shm")
"""Endings of the files that SQLite keeps beside a store: its log and the index of that."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_UNNAMED = (
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
"""Errors behind which several faults may stand."""


class Fault(NamedTuple):
    """what: the fault, in words that stand in brackets. advice: what to do about it, "" where that
    is unknown.
    """

    what: str
    advice: str = ""


FULL = Fault("the store's disk is full", "free some space")
HELD = Fault("another program holds the store", "wait for that program or end it")
MANY = Fault("this process has too many open files", "raise its limit of open files or restart it")
BARRED = Fault("the store may not be read and written by this user", "mend its owner or mode")
UNREADABLE = Fault("the store's disk could not be read or written", "look after the disk")
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


def fault_of(error: BaseException, path: Path | None) -> Fault:
    """What an error of the operating system, of SQLite or of a server means; path: of a store that
    is a file.
    """
    if isinstance(error, OSError):
        return _BY_NUMBER.get(
            error.errno or 0, Fault(error.strerror or "another process is opening it")
        )
    code = _code(error)
    if code in _HELD:
        return HELD
    if code == sqlite3.SQLITE_FULL:
        return FULL
    if path and code in _UNNAMED:
        return _looked_for(path) or (
            UNREADABLE if code == sqlite3.SQLITE_IOERR else Fault(_words(error))
        )
    return Fault(_words(error))


def set_aside_if_damaged(path: Path) -> None:
    """Check a store that is a file; one that is damaged gets another name, with its log, unchanged.

    Raises:
        BackendError: it was damaged; says where it lies now.
        sqlite3.Error, OSError: it could not be checked, for another reason; nothing was changed.
    """
    if not path.is_file():
        return
    path = path.resolve()
    logs = [Path(f"{path}{ending}") for ending in LOGS]
    there = (
        [log for log in logs if log.exists()] if _size(logs[0]) else []
    )  # the index is of no use without the log
    with closing(sqlite3.connect(path, timeout=WAITING)) as connection:
        if _sound(connection):
            return
        # Still open: SQLite then sees that the file has another name, and leaves the log as it is.
        try:
            aside = set_aside(path, *there)
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"The store of notes {path.name} is damaged and could not be set aside ({reason}); "
                "nothing was changed, move it away by hand."
            ) from error
    for log in logs:
        log.unlink(missing_ok=True)  # made by the check
    raise BackendError(
        f"The store of notes was damaged and was set aside as {aside.name}; a new one begins next"
        " time."
    )


def _sound(connection: sqlite3.Connection) -> bool:
    """Whether a check finds nothing; raises sqlite3.Error where it could not look at everything."""
    try:
        if connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
            return True
    except sqlite3.DatabaseError as error:
        if _code(error) not in _DAMAGE:
            raise
    _read_all(connection)
    return False


def _read_all(connection: sqlite3.Connection) -> None:
    """Raise what the disk says where it does not give a page: a check calls such a page malformed,
    a copy does not.
    """
    try:
        with closing(sqlite3.connect("")) as copy:  # a temporary one
            connection.backup(copy)
    except sqlite3.DatabaseError as error:
        if _code(error) not in _DAMAGE:
            raise


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _code(error: BaseException) -> int:
    """SQLite's number of an error, without what it adds in higher bits; -1 where it has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else int(code) & 0xFF


def _words(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _looked_for(path: Path) -> Fault | None:
    """The fault behind SQLite's "unable to open" and "I/O error". The store itself is not opened:
    to close it again would free the locks that this process has on it.
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
    files = [one for one in (path, *(Path(f"{path}{ending}") for ending in LOGS)) if one.exists()]
    if not all(os.access(one, os.R_OK | os.W_OK) for one in (*files, path.parent)):
        return BARRED
    return None

"""The store of notes: its tables and upgrades, its faults, and its connection.

`Store` in the last section uses the other two.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import sqlalchemy as sql
from filelock import FileLock
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.safe_files import PRIVATE_FILE, find_aside_name, make_private_folder, set_aside

# The tables of the store of notes, their version, and the upgrades from older versions.
#
# An older store is upgraded in one transaction, and a newer one is refused. To change a table,
# raise `VERSION`, add a step to `STEPS`, and put a store of the new version into
# tests/notes/stores.


# Stores of version 0 have no table of versions, and some of them have no slices.
VERSION = 3
LONGEST_NOTE, LONGEST_NAME, LONGEST_SLICE = 4000, 100, 60
# Maximum number of characters of a rated text, and of the lines from another tool that rate it.
LONGEST_TEXT, LONGEST_ORIGIN = 20_000, 200_000
# Maximum example index and version that every store can hold.
MAX_NUMBER = 2**31 - 1
# Maximum number of characters of each text column.
LENGTHS = {
    "id": 32,
    "dataset": 64,
    "model": LONGEST_NAME,
    "tag": LONGEST_NAME,
    "severity": 16,
    "note": LONGEST_NOTE,
    "author": LONGEST_NAME,
    "changed": 32,
    "differs": 32,
    "reader": 64,
    "import_id": 32,
    "rater": LONGEST_NAME,
    "source": LONGEST_TEXT,
    "output": LONGEST_TEXT,
    "origin": LONGEST_ORIGIN,
}
# Unpaired surrogates, which UTF-8 cannot encode, and NUL, which PostgreSQL cannot store.
_BROKEN = re.compile("[\0\ud800-\udfff]")

METADATA = sql.MetaData()


def _make_text_column(name: str, later: bool = False, **options: Any) -> sql.Column[str]:
    """Return a text column. If a later version added the column, older rows have ""."""
    default = "" if later else None
    kind = sql.String(LENGTHS[name])
    return sql.Column(name, kind, nullable=False, server_default=default, **options)


def _make_ownership_columns() -> tuple[sql.Column[str], sql.Column[str]]:
    """Return the columns that determine who may change a row, see `notes/records.py`."""
    # The id of the user who wrote or imported the row (`areaviz/app/run.py`). It is ""
    # for the operator, and for rows of older versions, which did not record users.
    reader = _make_text_column("reader", later=True)
    # The import that added the row, "" for a row that was written in the app.
    return reader, _make_text_column("import_id", later=True)


def _make_indexes(table: str) -> tuple[sql.Index, ...]:
    """Return the indexes that the app's queries need: by example, by owner and by import."""
    return (
        sql.Index(f"ix_{table}_example", "dataset", "example"),
        sql.Index(f"ix_{table}_reader", "reader", "dataset", "example"),
        sql.Index(f"ix_{table}_import", "import_id"),
    )


NOTES = sql.Table(
    "annotations",
    METADATA,
    _make_text_column("id", primary_key=True),
    _make_text_column("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _make_text_column("model"),
    _make_text_column("tag"),
    _make_text_column("severity"),
    sql.Column("note", sql.Text, nullable=False),
    _make_text_column("author"),
    _make_text_column("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    # The id of the stored note from which an imported note differs, "" for other notes.
    _make_text_column("differs", later=True),
    *_make_ownership_columns(),
    *_make_indexes("annotations"),
)
SLICES = sql.Table(
    "slices",
    METADATA,
    _make_text_column("dataset", primary_key=True),
    sql.Column("name", sql.String(LONGEST_SLICE), primary_key=True),
    sql.Column("examples", sql.Text, nullable=False),
    _make_text_column("changed", later=True),
    _make_text_column("reader", later=True),
    sql.Column("version", sql.Integer, nullable=False, server_default="1"),
)
JUDGEMENTS = sql.Table(
    "judgements",
    METADATA,
    _make_text_column("id", primary_key=True),
    _make_text_column("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _make_text_column("model"),
    _make_text_column("rater"),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("output", sql.Text, nullable=False),
    # The marked errors as JSON, see `areaviz/sets/notes/notes.py`.
    sql.Column("spans", sql.Text, nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("origin", sql.Text, nullable=False),
    _make_text_column("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    _make_text_column("differs"),
    *_make_ownership_columns(),
    *_make_indexes("judgements"),
)
_VERSION = sql.Table(
    "store_version", METADATA, sql.Column("version", sql.Integer, primary_key=True)
)


def read_version(connection: Connection) -> int | None:
    """Return the version of a store, or None for an empty store.

    Raises:
        BackendError: a newer version of this app wrote the store.
    """
    there = sql.inspect(connection)
    if not there.has_table(_VERSION.name):
        return 0 if there.has_table(NOTES.name) else None
    found = int(connection.execute(sql.select(_VERSION.c.version)).scalar_one())
    if found > VERSION:
        raise BackendError(
            f"The notes database has version {found}, but this app can read versions up to"
            f" {VERSION}. Nothing was changed. Update the app to open it."
        )
    return found


def upgrade_store(connection: Connection) -> None:
    """Create the tables of an empty store, or upgrade an older store to `VERSION`.

    Everything happens in the caller's transaction.
    """
    found = read_version(connection)
    if found == VERSION:
        return
    if found is not None:
        for step in STEPS[found:]:
            step(connection)
    METADATA.create_all(connection)
    connection.execute(sql.delete(_VERSION))
    connection.execute(sql.insert(_VERSION).values(version=VERSION))


def _upgrade_from_0(connection: Connection) -> None:
    """Add the owners of notes and slices, the times of slices, and the column `differs`."""
    _add_columns(connection, NOTES.c.differs, NOTES.c.reader)
    if sql.inspect(connection).has_table(SLICES.name):
        _add_columns(connection, SLICES.c.changed, SLICES.c.reader)
        connection.execute(sql.update(SLICES).values(changed=format_current_time()))


def _upgrade_from_1(connection: Connection) -> None:
    """Add the table of ratings."""
    JUDGEMENTS.create(connection, checkfirst=True)


def _upgrade_from_2(connection: Connection) -> None:
    """Add imports, the versions of slices, and the indexes of notes and ratings."""
    _add_columns(connection, NOTES.c.import_id, JUDGEMENTS.c.import_id, SLICES.c.version)
    for index in sorted(NOTES.indexes | JUDGEMENTS.indexes, key=lambda one: str(one.name)):
        index.create(connection, checkfirst=True)


def _add_columns(connection: Connection, *columns: sql.Column[Any]) -> None:
    """Add columns to existing tables that lack them.

    An earlier step may have created the table, and then it has all columns of `VERSION`.
    """
    for column in columns:
        there = sql.inspect(connection)
        if not there.has_table(column.table.name):
            continue
        if column.name in {one["name"] for one in there.get_columns(column.table.name)}:
            continue
        added = sql.schema.CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {added}")


# The upgrade from each version to the next.
STEPS: tuple[Callable[[Connection], None], ...] = (
    _upgrade_from_0,
    _upgrade_from_1,
    _upgrade_from_2,
)


def check_text(title: str, value: str, most: int) -> None:
    """Raise InputError for a text that a store could not keep without changing it.

    Args:
        title: the name of the text in error messages.
        value: the text.
        most: the maximum number of characters.
    """
    if len(value) > most:
        raise InputError(
            f"The {title} has {len(value):,} characters, but the limit is {most:,}. Shorten it."
        )
    if _BROKEN.search(value):
        raise InputError(f"The {title} has a broken character. Delete it or type it again.")


def check_numbers(example: int, version: int) -> None:
    """Raise InputError for an example index or a version that a store could not keep."""
    for title, number in (("example", example), ("version", version)):
        if not 0 <= number <= MAX_NUMBER:
            raise InputError(
                f"The {title} has the number {number:.6g}. Enter a number from 0 to {MAX_NUMBER:,}."
            )


def format_current_time() -> str:
    """Return the present time as stores keep it: ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Faults of the store of notes: the recognition of damage, and messages for other faults.
#
# A store counts as damaged only if SQLite reports it as corrupt. A full disk, a lock, a missing
# file descriptor or permission, and a disk error are temporary. They must leave the file unchanged.


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


# The store of users' notes, slices and ratings: an SQLite file or a PostgreSQL server.
#
# A change that is reported as saved has been committed and, in SQLite, written to the disk (WAL,
# synchronous=FULL). A damaged file is renamed. After every other error the file is left unchanged.


log = logging.getLogger(__name__)
# Seconds to wait for other processes that open a store, and for other writers of this process.
OPENING, WRITING = 20, 20
# The key of the lock that processes hold while they open one PostgreSQL store.
_OPENING_LOCK = 0x61726561
_POSTGRES = "postgresql+psycopg"


class Store:
    """A store with one writer at a time per process and any number of readers."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._writing = engine, threading.Lock()
        self._is_sqlite = engine.dialect.name == "sqlite"
        name = engine.url.database
        is_file = self._is_sqlite and name and name != ":memory:"
        # The file of an SQLite store, None for a server.
        self.file = Path(str(name)) if is_file else None
        # Function that is called before every change. It refuses the change by raising an error.
        self._check: Callable[[], None] | None = None

    @classmethod
    def open(cls, url: str) -> Self:
        """Open a store by its URL, and create it if it does not exist.

        Args:
            url: "sqlite:///FILE" or "postgresql+psycopg://...".

        Raises:
            BackendError: the store cannot be opened. The error gives the reason, and the new name
                of a damaged file.
        """
        try:
            engine = _make_engine(url)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise BackendError(
                f"The address of the notes database cannot be used ({error}). Use one such as"
                ' "sqlite:///notes.sqlite" or "postgresql+psycopg://user@host/name".'
            ) from error
        store = cls(engine)
        if store._is_sqlite:
            sql.event.listen(engine, "connect", _make_durable)
        try:
            store._begin()
        except BackendError:
            engine.dispose()
            raise
        return store

    def checked(self, check: Callable[[], None]) -> Self:
        """Return this store with a check before every change.

        Args:
            check: raises an InputError to refuse the change.
        """
        other = copy(self)
        other._check = check
        return other

    def rows(self, doing: str, query: sql.Executable) -> Sequence[sql.RowMapping]:
        """Return the rows that a query finds.

        Args:
            doing: completes "Something went wrong while ..." in an error.
            query: the query.

        Raises:
            BackendError: the store fails.
        """
        with self._errors(doing), self._engine.connect() as connection:
            return connection.execute(query).mappings().all()

    @contextmanager
    def writer(self, doing: str) -> Iterator[Connection]:
        """Yield the only writing connection.

        Changes are committed after the block, or rolled back on errors.

        Args:
            doing: completes "Something went wrong while ..." in an error.

        Raises:
            BackendError: the store fails, or other writers do not finish in time.
            InputError: the check of this store refuses the change.
        """
        with self._turn_to_write(doing), self._errors(doing), self._engine.begin() as connection:
            if self._check is not None:
                self._check()
            if self._is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def _turn_to_write(self, doing: str) -> Iterator[None]:
        """Wait for the other writers of this process, at most `WRITING` seconds."""
        if not self._writing.acquire(timeout=WRITING):
            raise BackendError(
                f"Something went wrong while {doing} (others have been saving for"
                f" {WRITING} seconds). Nothing was changed. Try again in a minute."
            )
        try:
            yield
        finally:
            self._writing.release()

    def delete(self, doing: str, table: sql.Table, *which: sql.ColumnElement[bool]) -> int:
        """Delete the rows of a table that meet all conditions, and return their number."""
        with self.writer(doing) as connection:
            return connection.execute(sql.delete(table).where(*which)).rowcount

    def _begin(self) -> None:
        """Rename a damaged store, create a missing one, and upgrade an older one."""
        with self._errors("opening the notes"), self._one_opener():
            if self.file:
                set_aside_if_damaged(self.file)
                with suppress(FileExistsError):  # SQLite gives its log and index this file's mode
                    _create(self.file)
            with self._engine.connect() as connection:
                found = read_version(connection)
            if found == VERSION:
                return
            if self.file and found is not None:
                self._copy(self.file, found)
            with self.writer("opening the notes") as connection:
                if not self._is_sqlite:
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_OPENING_LOCK)))
                upgrade_store(connection)

    def _copy(self, file: Path, version: int) -> None:
        """Back up a file of an older version, and make the store private to this user."""
        copy = find_aside_name(file, f"version-{version}")
        _create(copy)
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("VACUUM INTO ?", (str(copy),))
            with copy.open("rb") as written:
                os.fsync(written.fileno())
        except BaseException:
            copy.unlink()
            raise
        for ending in ("", *LOGS):
            with suppress(OSError):  # the file's owner is another user, who chose its mode
                Path(f"{file}{ending}").chmod(PRIVATE_FILE)
        log.info(
            "The notes database %s had version %d. Its old file is kept as %s.",
            file.name,
            version,
            copy.name,
        )

    @contextmanager
    def _one_opener(self) -> Iterator[None]:
        """Let processes open an SQLite file one after another. A server does this itself."""
        if not self.file:
            yield
            return
        make_private_folder(self.file.parent)
        name = self.file.with_name(f".{self.file.name}.lock")
        with FileLock(name, timeout=OPENING, mode=PRIVATE_FILE):
            yield

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Raise every error of the store as a BackendError with a message for users."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            fault = find_fault(cause, self.file)
            advice = f"{fault.advice}, then try again" if fault.advice else "Try again"
            raise BackendError(
                f"Something went wrong while {doing} ({fault.what}). Nothing was changed. {advice}."
            ) from error


def _make_engine(url: str) -> Engine:
    """Return the engine for a database URL. SQLAlchemy raises its own error for an invalid URL."""
    if sql.make_url(url).drivername == _POSTGRES:
        from areaviz.sets.notes.postgres import create_engine  # the driver may not be installed

        return create_engine(url)
    return sql.create_engine(url, pool_pre_ping=True)


def _create(path: Path) -> None:
    """Create an empty file that only this user can read. Raise FileExistsError if it exists."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE_FILE))


def _make_durable(connection: Any, _: object) -> None:
    """Configure an SQLite connection: write-ahead log, durable commits, secure deletion."""
    connection.isolation_level = None  # `writer` starts transactions itself
    settings = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
    for pragma in (f"busy_timeout={WAITING * 1000}", *settings):
        connection.execute(f"PRAGMA {pragma}")

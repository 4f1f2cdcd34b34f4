"""The store of users' notes, slices and ratings: an SQLite file or a PostgreSQL server.

A change that is reported as saved has been committed and, in SQLite, written to the disk (WAL,
synchronous=FULL). A damaged file is renamed. After every other error the file is left unchanged.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sql
from filelock import FileLock
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from areaviz.notes.store_faults import LOGS, WAITING, find_fault, set_aside_if_damaged
from areaviz.notes.store_schema import VERSION, read_version, upgrade_store
from areaviz.trace.errors import BackendError
from areaviz.trace.safe_files import PRIVATE_FILE, find_aside_name, make_private_folder

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
        from areaviz.notes.postgres import create_engine  # the driver may not be installed

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

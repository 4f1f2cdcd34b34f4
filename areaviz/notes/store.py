"""Where people's notes and slices are kept: one SQLite file or a PostgreSQL server, by its address.

What is reported as saved has been committed and, in SQLite, brought to the disk (WAL,
synchronous=FULL). A damaged file gets another name; under every other fault it stays as it is.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sql
from filelock import FileLock
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from areaviz.notes.store_faults import LOGS, WAITING, fault_of, set_aside_if_damaged
from areaviz.notes.store_schema import VERSION, upgrade, version_of
from areaviz.trace.errors import BackendError
from areaviz.trace.files import PRIVATE_FILE, aside_name, private_folder

log = logging.getLogger(__name__)
# Seconds to wait for other processes that open a store.
OPENING = 20
# The number by which those who open one PostgreSQL store at once wait for each other.
_TURN = 0x61726561


class Store:
    """One store; one writer at a time in this process, any number of readers."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._writing = engine, threading.Lock()
        self._is_sqlite = engine.dialect.name == "sqlite"
        name = engine.url.database
        is_file = self._is_sqlite and name and name != ":memory:"
        # The file of a store that is one, else None.
        self.file = Path(str(name)) if is_file else None

    @classmethod
    def open(cls, url: str) -> Self:
        """A store by its address, "sqlite:///FILE" or "postgresql+psycopg://..."; made if missing.

        Raises:
            BackendError: the store cannot be opened: why, and what was done with a damaged file.
        """
        try:
            engine = sql.create_engine(url, pool_pre_ping=True)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise BackendError(
                f"The address of the store of notes cannot be used ({error}); it is like"
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

    def rows(self, doing: str, query: sql.Executable) -> Sequence[sql.RowMapping]:
        """The rows that a query finds, each by the names of its columns.

        Args:
            doing: for people, completes "Something went wrong while ...".
            query: what to look for.

        Raises:
            BackendError: the store fails.
        """
        with self._errors(doing), self._engine.connect() as connection:
            return connection.execute(query).mappings().all()

    @contextmanager
    def writer(self, doing: str) -> Iterator[Connection]:
        """The one writing connection; what the block did is committed at its end, or undone.

        Args and errors as of `rows`.
        """
        with self._writing, self._errors(doing), self._engine.begin() as connection:
            if self._is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def delete(self, doing: str, table: sql.Table, *which: sql.ColumnElement[bool]) -> int:
        """Delete the rows of a table for which all conditions hold; returns how many."""
        with self.writer(doing) as connection:
            return connection.execute(sql.delete(table).where(*which)).rowcount

    def _begin(self) -> None:
        """Set a damaged file aside, make a new one, bring an older one to this version."""
        with self._errors("opening the notes"), self._one_opener():
            if self.file:
                set_aside_if_damaged(self.file)
                with suppress(FileExistsError):  # SQLite gives its log and index the same mode
                    _create(self.file)
            with self._engine.connect() as connection:
                found = version_of(connection)
            if found == VERSION:
                return
            if self.file and found is not None:
                self._copy(self.file, found)
            with self.writer("opening the notes") as connection:
                if not self._is_sqlite:
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_TURN)))
                upgrade(connection)

    def _copy(self, file: Path, version: int) -> None:
        """Keep a file of an older version as it was, and make the store private to this user."""
        copy = aside_name(file, f"version-{version}")
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
            with suppress(OSError):  # another owner's: that it could be read is no fault here
                Path(f"{file}{ending}").chmod(PRIVATE_FILE)
        log.info(
            "The store of notes %s was of version %d; it is kept as %s.",
            file.name,
            version,
            copy.name,
        )

    @contextmanager
    def _one_opener(self) -> Iterator[None]:
        """Let processes open one SQLite file one after the other; a server sees to that itself."""
        if not self.file:
            yield
            return
        private_folder(self.file.parent)
        name = self.file.with_name(f".{self.file.name}.lock")
        with FileLock(name, timeout=OPENING, mode=PRIVATE_FILE):
            yield

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Raise what goes wrong as BackendError, in one sentence."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            fault = fault_of(cause, self.file)
            advice = f"{fault.advice}, then try again" if fault.advice else "try again"
            raise BackendError(
                f"Something went wrong while {doing} ({fault.what}); nothing was changed, {advice}."
            ) from error


def _create(path: Path) -> None:
    """Make an empty file for this user alone; FileExistsError where there is one."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, PRIVATE_FILE))


def _make_durable(connection: Any, _: object) -> None:
    """Set up an SQLite connection.

    It has a log ahead of the file, brings each commit to the disk, and overwrites what is removed.
    """
    connection.isolation_level = None  # transactions are begun by `writer`, not by the driver
    settings = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
    for pragma in (f"busy_timeout={WAITING * 1000}", *settings):
        connection.execute(f"PRAGMA {pragma}")

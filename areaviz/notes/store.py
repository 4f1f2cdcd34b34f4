"""Where people's notes and slices are kept: one SQLite file or a PostgreSQL server, by its address.

What is told as saved has been committed and, in SQLite, brought to the disk (WAL,
synchronous=FULL). A file that is damaged gets another name; under every other fault it stays as it
is.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sql
from filelock import FileLock
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from areaviz.notes.store_faults import LOGS, WAITING, fault_of, set_aside_if_damaged
from areaviz.notes.store_schema import VERSION, bring_up, version_of
from areaviz.trace.errors import BackendError
from areaviz.trace.files import PRIVATE_FILE, aside_name, private_folder

log = logging.getLogger(__name__)
OPENING = 20  # seconds, for other processes that open it
_TURN = 0x61726561
"""The number by which those who open one PostgreSQL store at once wait for each other."""


class Store:
    """One store; one writer at a time in this process, any number of readers."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._writing, self._path = engine, threading.Lock(), _path(engine)

    @classmethod
    def open(cls, url: str) -> Self:
        """A store by its address, "sqlite:///FILE" or "postgresql+psycopg://...", made if it is not
        there.

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
        if engine.dialect.name == "sqlite":
            sql.event.listen(engine, "connect", _durable)
        store = cls(engine)
        try:
            store._begin()
        except BackendError:
            engine.dispose()
            raise
        return store

    @property
    def file(self) -> Path | None:
        """The file of a store that is one."""
        return self._path

    @contextmanager
    def reader(self, doing: str) -> Iterator[Connection]:
        """A connection to read by; doing: for people, where it fails; raises BackendError."""
        with self._named(doing), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writer(self, doing: str) -> Iterator[Connection]:
        """The one writing connection; what the block did is committed at its end, or undone; raises
        BackendError.
        """
        with self._writing, self._named(doing), self._engine.begin() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def _begin(self) -> None:
        """Set a damaged file aside, make a new one, bring an older one to this version."""
        with self._named("opening the notes"), self._alone():
            if self._path:
                set_aside_if_damaged(self._path)
                with suppress(FileExistsError):  # SQLite gives its log and index the same mode
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
            with self._engine.connect() as connection:
                found = version_of(connection)
            if found == VERSION:
                return
            if self._path and found is not None:
                self._copy(found)
            with self.writer("opening the notes") as connection:
                if self._engine.dialect.name == "postgresql":
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_TURN)))
                bring_up(connection)

    def _copy(self, version: int) -> None:
        """Keep a file of an older version as it was; from now on nobody else on this machine reads
        the store.
        """
        assert self._path
        copy = aside_name(self._path, f"version-{version}")
        os.close(os.open(copy, os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("VACUUM INTO ?", (str(copy),))
            with copy.open("rb") as file:
                os.fsync(file.fileno())
        except BaseException:
            copy.unlink()
            raise
        for ending in ("", *LOGS):
            with suppress(OSError):  # another owner's: that it could be read is no fault here
                Path(f"{self._path}{ending}").chmod(PRIVATE_FILE)
        log.info(
            "The store of notes %s was of version %d; it is kept as %s.",
            self._path.name,
            version,
            copy.name,
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Of processes that open one SQLite file at once, each waits for the other; a server sees
        to that itself.
        """
        if not self._path:
            yield
            return
        private_folder(self._path.parent)
        name = self._path.with_name(f".{self._path.name}.lock")
        with FileLock(name, timeout=OPENING, mode=PRIVATE_FILE):
            yield

    @contextmanager
    def _named(self, doing: str) -> Iterator[None]:
        """What goes wrong, as one sentence."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            fault = fault_of(cause, self._path)
            advice = f"{fault.advice}, then try again" if fault.advice else "try again"
            raise BackendError(
                f"Something went wrong while {doing} ({fault.what}); nothing was changed, {advice}."
            ) from error


def _path(engine: Engine) -> Path | None:
    """The file of a store that is one."""
    name = engine.url.database
    return Path(name) if engine.dialect.name == "sqlite" and name and name != ":memory:" else None


def _durable(connection: Any, _: object) -> None:
    """Of every SQLite connection: a log ahead of the file, brought to the disk with each commit;
    what is removed is overwritten.
    """
    connection.isolation_level = None  # transactions are begun by `writer`, not by the driver
    settings = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
    for pragma in (f"busy_timeout={WAITING * 1000}", *settings):
        connection.execute(f"PRAGMA {pragma}")

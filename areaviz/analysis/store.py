"""Where people's notes and slices are kept: one SQLite file or a PostgreSQL server, by its address.

What is told as saved has been committed and, in SQLite, brought to the disk (WAL, synchronous=FULL).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sql
from filelock import FileLock
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, SQLAlchemyError

from areaviz.trace.errors import BackendError

WAITING = 20  # seconds


class Store:
    """One store; one writer at a time in this process, any number of readers."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._writing = engine, threading.Lock()

    @classmethod
    def open(cls, url: str) -> Self:
        """A store by its address, "sqlite:///FILE" or "postgresql+psycopg://...", made if it is not there.

        A damaged SQLite file is set aside under another name, never overwritten.

        Raises:
            BackendError: the store cannot be opened; says what was done with a damaged file.
        """
        try:
            engine = sql.create_engine(url, pool_pre_ping=True)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise BackendError(
                f'The address of the store of notes cannot be used ({error}); it is like "sqlite:///notes.sqlite" or '
                '"postgresql+psycopg://user@host/name".'
            ) from error
        if engine.dialect.name == "sqlite":
            sql.event.listen(engine, "connect", _durable)
            with _alone(engine):
                _set_aside_if_damaged(engine)
        return cls(engine)

    def keep(self, table: sql.Table) -> None:
        """Make a table that is not there yet; raises BackendError."""
        with _told("opening the notes"), _alone(self._engine):
            table.metadata.create_all(self._engine)

    @contextmanager
    def reader(self, doing: str) -> Iterator[Connection]:
        """A connection to read by; doing: for people, where it fails; raises BackendError."""
        with _told(doing), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writer(self, doing: str) -> Iterator[Connection]:
        """The one writing connection; what the block did is committed at its end, or undone; raises BackendError."""
        with self._writing, _told(doing), self._engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Of processes that open one new SQLite file at once, each waits for the other; a server sees to that itself."""
    if engine.dialect.name != "sqlite" or not engine.url.database:
        yield
        return
    path = Path(engine.url.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=WAITING)
        lock.acquire()
    except OSError as error:  # a timeout is one too
        reason = error.strerror or "another process is opening it"
        raise BackendError(f"The store of notes {path.name} cannot be opened ({reason}); try again.") from error
    try:
        yield
    finally:
        lock.release()


def _durable(connection: Any, _: object) -> None:
    """Of every SQLite connection: a log ahead of the file, brought to the disk with each commit."""
    connection.isolation_level = None  # transactions are begun by `writer`, not by the driver
    for pragma in ("busy_timeout=5000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _set_aside_if_damaged(engine: Engine) -> None:
    path = Path(engine.url.database or "")
    try:
        with engine.connect() as connection:
            sound = connection.exec_driver_sql("PRAGMA quick_check").scalar() == "ok"
    except DatabaseError:
        sound = False
    if sound or not path.is_file():
        return
    engine.dispose()
    aside = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    path.rename(aside)
    raise BackendError(f"The store of notes was damaged and was set aside as {aside.name}; a new one begins next time.")


@contextmanager
def _told(doing: str) -> Iterator[None]:
    """What the store says goes wrong, as one sentence."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise BackendError(f"Something went wrong while {doing} ({reason}); nothing was changed, try again.") from error

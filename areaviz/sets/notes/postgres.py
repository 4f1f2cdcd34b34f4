"""Limits on the time for which the app waits for a PostgreSQL server.

The server ends statements that take too long. A frozen server ends nothing, although its machine
may still acknowledge packets. The app therefore also limits its own waiting.
"""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
import sqlalchemy as sql
from psycopg.abc import PQGen
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import Dialect

from areaviz.sets.notes.store import WAITING

T = TypeVar("T")
# Seconds to wait for a new connection, for a free connection of the pool, and for one answer.
CONNECTING, POOLING, ANSWERING = 5, WAITING, 20
# Seconds after which the server ends a statement or stops waiting for a lock.
_STATEMENT, _LOCK = 15, 10


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server does not answer in time."""

    def wait(self, gen: PQGen[T], *args: Any, **options: Any) -> T:
        """Wait for the server like psycopg, but at most `ANSWERING` seconds.

        Raises:
            psycopg.errors.ConnectionTimeout: the server does not answer.
        """
        try:
            return super().wait(gen, *args, **options | {"timeout": ANSWERING})
        except psycopg.errors._WaitTimeout as error:
            # The state of the statement on the server is unknown, so close the connection.
            self.pgconn.finish()
            raise psycopg.errors.ConnectionTimeout("the server does not answer") from error


def create_engine(url: str) -> Engine:
    """Return an engine that waits only a limited time for each answer of the server.

    Args:
        url: a database URL with the psycopg driver.
    """
    engine = sql.create_engine(
        url,
        pool_pre_ping=True,
        pool_timeout=POOLING,
        connect_args={
            "connect_timeout": CONNECTING,
            "options": f"-c statement_timeout={_STATEMENT}s -c lock_timeout={_LOCK}s",
            # Detect within about 15 s that the server's machine is gone.
            "keepalives_idle": 5,
            "keepalives_interval": 3,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
        },
    )
    sql.event.listen(engine, "do_connect", _connect)
    return engine


def _connect(_: Dialect, __: object, arguments: list[Any], options: dict[str, Any]) -> object:
    """Open a bounded connection for an engine."""
    return BoundedConnection.connect(*arguments, **options)

"""A stalled PostgreSQL server gives one clear error after a limited time."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from areaviz.sets.notes import postgres, store
from areaviz.sets.notes.store import NOTES, Store
from areaviz.trace.errors import BackendError
from tests.sampled import sampled

SENTENCE = "the database server does not answer.*Check that it runs"
# The server accepts the user, and is ready for a query.
_READY = b"R" + struct.pack("!ii", 8, 0) + b"Z" + struct.pack("!i", 5) + b"I"


@contextmanager
def stalled_server(greeting: bytes) -> Iterator[str]:
    """Run a server that sends a greeting and then stalls, and yield its address."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    held.append(listening.accept()[0])
                    if greeting:
                        held[-1].recv(4096)
                        held[-1].sendall(greeting)

        threading.Thread(target=accept, daemon=True).start()
        try:
            port = listening.getsockname()[1]
            yield f"postgresql+psycopg://anna@127.0.0.1:{port}/notes?sslmode=disable&gssencmode=disable"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for one in held:
                one.close()


@pytest.mark.parametrize(
    "greeting", sampled([b"", _READY], _READY), ids=["connecting", "answering"]
)
def test_stalled_server_is_one_sentence(greeting: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (postgres.CONNECTING, postgres.ANSWERING) == (5, 20)
    # psycopg waits for a connection for at least two seconds.
    monkeypatch.setattr(postgres, "CONNECTING", 2)
    monkeypatch.setattr(postgres, "ANSWERING", 0.5)
    # The server never goes on, so only a limited wait ends.
    with stalled_server(greeting) as url, pytest.raises(BackendError, match=SENTENCE):
        Store.open(url)


def test_pool_without_connections_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.notes.postgres import server

    monkeypatch.setattr(postgres, "POOLING", 0.2)
    with server() as url:
        opened = Store.open(url)
        held = [opened._engine.connect() for _ in range(15)]
        with pytest.raises(BackendError, match=SENTENCE):
            opened.rows("reading", NOTES.select())
        for one in held:
            one.close()
        opened._engine.dispose()


def test_writer_waits_for_other_writers_only_briefly(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "WRITING", 0.1)
    opened = Store.open(f"sqlite:///{tmp_path}/notes.db")
    with (
        opened.writer("holding the store"),
        pytest.raises(BackendError, match="while saving .others have been saving for 0.1 seconds"),
        opened.writer("saving"),
    ):
        pytest.fail("two writers at once")

"""Idle connections: WebSockets without a message, and requests whose head never ends."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from areaviz.gateway.protocols import raise_limit
from tests.faults.client import Session
from tests.faults.served import Served

HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost:"
_HANDSHAKE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade:"
    " websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
    " dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: streamlit\r\n\r\n"
)


# Function that holds many connections to a server for a block.
Hold = Callable[[Served, int], AbstractContextManager[list[socket.socket]]]


@dataclass(frozen=True, slots=True)
class Silence:
    """Behaviour of a server with many idle connections.

    Args:
        many: number of connections.
        seconds: the time that a new visitor waited for a page meanwhile.
        gone: seconds until the server had closed all connections.
        log: bytes that were logged meanwhile.
    """

    many: int
    seconds: float
    gone: float
    log: int

    def __str__(self) -> str:
        return (
            f"{self.many:,} connections: a new visitor's page took {self.seconds:.1f} s, the last"
            f" was closed after {self.gone:.0f} s, {self.log:,} bytes of log"
        )


@contextmanager
def silent_sockets(app: Served, many: int) -> Iterator[list[socket.socket]]:
    """Hold WebSockets that send nothing after they are accepted, as the server has answered."""
    host = app.url.removeprefix("http://")
    with _connected(app, many, _HANDSHAKE.format(host=host).encode()) as lines:
        _wait_until_answered(lines)
        yield lines


@contextmanager
def half_open(app: Served, many: int) -> Iterator[list[socket.socket]]:
    """Hold requests whose head never ends."""
    with _connected(app, many, HALF_A_HEAD) as lines:
        yield lines


def measure_silence(app: Served, many: int, hold: Hold) -> Silence:
    """Measure a server with many idle connections.

    Args:
        app: the server.
        many: number of connections.
        hold: `silent_sockets` or `half_open`.
    """
    with Session.open(app.url) as visitor:
        # A server's first page takes longer, because it loads code that all pages need.
        visitor.visit("models")
    log, began = app.log.stat().st_size, time.monotonic()
    with hold(app, many) as lines:
        came = time.monotonic()
        with Session.open(app.url) as visitor:
            visitor.visit("models")
        waited = time.monotonic() - came
        wait_until_closed(lines)
        gone = time.monotonic() - began
    return Silence(many, waited, gone, app.log.stat().st_size - log)


@contextmanager
def _connected(app: Served, many: int, said: bytes) -> Iterator[list[socket.socket]]:
    raise_limit()
    host, _, port = app.url.removeprefix("http://").partition(":")
    with ExitStack() as stack:
        lines = [
            stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(many)
        ]
        for line in lines:
            try:
                line.sendall(said)
            except OSError:
                # The server has already closed it to make room for another connection.
                continue
        yield lines


def _wait_until_answered(lines: list[socket.socket]) -> None:
    """Wait until the server has accepted or closed every connection."""
    with selectors.DefaultSelector() as ready:
        for line in lines:
            ready.register(line, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                ready.unregister(key.fileobj)


def wait_until_closed(lines: list[socket.socket]) -> None:
    """Wait until the server has closed every connection."""
    with selectors.DefaultSelector() as ready:
        for line in lines:
            line.setblocking(False)
            ready.register(line, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                if _is_closed(key.fileobj):
                    ready.unregister(key.fileobj)


def count_open(lines: list[socket.socket]) -> int:
    """Return how many connections the server has not closed."""
    for line in lines:
        line.setblocking(False)
    return sum(not _is_closed(line) for line in lines)


def _is_closed(line: object) -> bool:
    assert isinstance(line, socket.socket)
    try:
        return not line.recv(65536)
    except BlockingIOError:
        return False
    except OSError:
        return True

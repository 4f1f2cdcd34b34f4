"""Idle connections: WebSockets without a message, and requests whose head never ends."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from areaviz.gateway.limits import raise_limit
from tests.faults.client import Session
from tests.faults.served import Served

HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost:"
_HANDSHAKE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade:"
    " websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key:"
    " dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: streamlit\r\n\r\n"
)


# Seconds of delay to allow on a busy machine.
LATE = 12


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

    def check(self, seconds: float) -> None:
        """Check that the visitor got the page, and that all connections were closed in time."""
        assert self.seconds < LATE, str(self)
        assert self.gone < seconds + LATE, str(self)
        assert self.log < 20_000, str(self)


def silent_sockets(app: Served, many: int) -> Silence:
    """Measure a server with WebSockets that send nothing after they are accepted."""
    host = app.url.removeprefix("http://")
    return _silence(app, many, _HANDSHAKE.format(host=host).encode(), answered=True)


def half_open(app: Served, many: int) -> Silence:
    """Measure a server with requests whose head never ends."""
    return _silence(app, many, HALF_A_HEAD, answered=False)


def _silence(app: Served, many: int, said: bytes, answered: bool) -> Silence:
    with Session.open(app.url) as visitor:
        # A server's first page takes longer, because it loads code that all pages need.
        visitor.visit("models")
    log = app.log.stat().st_size
    with _connected(app, many, said) as lines:
        began = time.monotonic()
        if answered:
            _wait_until_answered(lines)
        came = time.monotonic()
        with Session.open(app.url) as visitor:
            visitor.visit("models")
        waited = time.monotonic() - came
        _wait_until_closed(lines)
        gone = time.monotonic() - began
    return Silence(many, waited, gone, app.log.stat().st_size - log)


@contextmanager
def _connected(app: Served, many: int, said: bytes) -> Iterator[list[socket.socket]]:
    raise_limit()
    host, _, port = app.url.removeprefix("http://").partition(":")
    with ExitStack() as stack:
        lines = [
            stack.enter_context(socket.create_connection((host, int(port)), 30))
            for _ in range(many)
        ]
        for line in lines:
            try:
                line.sendall(said)
            except OSError:
                # The server has already closed it to make room for another connection.
                continue
        yield lines


def _wait_until_answered(lines: list[socket.socket]) -> None:
    """Wait until the server has accepted or closed every connection, for at most 30 seconds."""
    late = time.monotonic() + 30
    with selectors.DefaultSelector() as ready:
        for line in lines:
            ready.register(line, selectors.EVENT_READ)
        while ready.get_map() and time.monotonic() < late:
            for key, _ in ready.select(1.0):
                ready.unregister(key.fileobj)


def _wait_until_closed(lines: list[socket.socket]) -> None:
    """Wait until the server has closed every connection, for at most two minutes."""
    began, still = time.monotonic(), len(lines)
    with selectors.DefaultSelector() as ready:
        for line in lines:
            line.setblocking(False)
            ready.register(line, selectors.EVENT_READ)
        while still and time.monotonic() - began < 120:
            for key, _ in ready.select(1.0):
                if _is_closed(key.fileobj):
                    ready.unregister(key.fileobj)
                    still -= 1


def _is_closed(line: object) -> bool:
    assert isinstance(line, socket.socket)
    try:
        return not line.recv(65536)
    except BlockingIOError:
        return False
    except OSError:
        return True

"""Connections that say nothing: sockets without a message, and requests whose head never ends."""

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


@dataclass(frozen=True, slots=True)
class Silence:
    """Silent connections.

    Args:
        many: how many.
        seconds: a new visitor waits for a page while they are there.
        gone: seconds until the server has closed all of them.
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


def silent_sockets(app: Served, many: int) -> Silence:
    """WebSockets that were accepted and send nothing."""
    host = app.url.removeprefix("http://")
    return _silence(app, many, _HANDSHAKE.format(host=host).encode(), answered=True)


def half_open(app: Served, many: int) -> Silence:
    """Requests that never end."""
    return _silence(app, many, HALF_A_HEAD, answered=False)


def _silence(app: Served, many: int, said: bytes, answered: bool) -> Silence:
    with Session.open(app.url) as visitor:
        visitor.visit("models")  # the first page of a server takes longer: it loads what all need
    log = app.log.stat().st_size
    with _connected(app, many, said) as lines:
        began = time.monotonic()
        if answered:
            time.sleep(1.0)
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
            except OSError:  # it had to go for another one already
                continue
        yield lines


def _wait_until_closed(lines: list[socket.socket]) -> None:
    """Until the server has closed every one of them; at most two minutes."""
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

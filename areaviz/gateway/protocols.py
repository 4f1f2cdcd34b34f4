"""uvicorn's two protocols, with bounds on heads, bodies, silence, messages and connections.

uvicorn itself waits for the head of a request for ever, and does not count sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from areaviz.gateway.frames import FrameFilter
from areaviz.gateway.limits import FULL, Connections
from areaviz.shares.limits import HEAD_SECONDS, MESSAGE_KILOBYTES

HEAD_BYTES = 32768

# The slowest that a whole body may come, and the fewest bytes of it in each few seconds.
BODY_BYTES_PER_SECOND = 16_384
WINDOW_SECONDS, WINDOW_BYTES = 5.0, 20_480

# How long a client may read nothing of an answer, and leave the closing of a socket unanswered.
STALLED_SECONDS, CLOSE_SECONDS = 60.0, 2.0

# In the state of a socket's scope: its `BoundedSocket`.
SOCKET = "areaviz_socket"

# Stands in place of the number of a head's bytes while a body arrives.
_IN_BODY = -1


class BoundedRequests(HttpToolsProtocol):
    """A connection for requests, with its seat among `connections`."""

    transport: asyncio.Transport

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._seats, self._head_bytes = connections, 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._window: asyncio.TimerHandle | None = None
        self._window_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head, or answer that there is no room."""
        super().connection_made(transport)
        if self._seats.enter(transport):
            self._allow(HEAD_SECONDS.value())
        else:
            self._end(503, FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the seat, and stop all clocks."""
        self._allow(None)
        self._end_window()
        self.resume_writing()
        self._seats.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data, unless the head has become too long."""
        left = HEAD_BYTES - self._head_bytes
        if self._head_bytes != _IN_BODY and len(data) > left:
            # The bytes within the bound may hold the end of the head.
            self._feed(data[:left])
            data = data[left:]
            if self._head_bytes != _IN_BODY and not self.transport.is_closing():
                return self._end(431, f"The head of a request has at most {HEAD_BYTES:,} bytes.")
        if data and not self.transport.is_closing():
            self._feed(data)
        return None

    def _feed(self, data: bytes) -> None:
        if self._head_bytes == _IN_BODY:
            self._window_bytes += len(data)
        else:
            self._head_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        super().on_message_begin()
        self._head_bytes = max(self._head_bytes, 0)
        if self._reading is None:
            self._allow(HEAD_SECONDS.value())

    def on_headers_complete(self) -> None:
        """Keep the connection, and allow the body time by its length."""
        self._head_bytes = _IN_BODY
        self._seats.settle(self.transport)
        self._allow(HEAD_SECONDS.value() + self._length() / BODY_BYTES_PER_SECOND)
        self._begin_window()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the clocks of the body."""
        self._head_bytes = 0
        self._allow(None)
        self._end_window()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Let a new connection take this one's place from now on."""
        self._seats.wait(self.transport)
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection and its seat over to the other protocol."""
        self._allow(None)
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Begin to wait for a client that reads nothing at the moment."""
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting for the client."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _begin_window(self) -> None:
        self._window_bytes = 0
        self._window = self.loop.call_later(WINDOW_SECONDS, self._look_at_body)

    def _end_window(self) -> None:
        if self._window is not None:
            self._window.cancel()
            self._window = None

    def _look_at_body(self) -> None:
        """End the connection where too little of the body came, unless the app does not read."""
        if self._window_bytes < WINDOW_BYTES and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._begin_window()

    def _length(self) -> int:
        given = dict(self.headers).get(b"content-length", b"0")
        return int(given) if given.isdigit() and len(given) < 12 else 0

    def _allow(self, seconds: float | None) -> None:
        """End the connection after some seconds of reading, or never for None."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if seconds is not None:
            self._reading = self.loop.call_later(seconds, self.transport.abort)

    def _end(self, status: int, sentence: str) -> None:
        """Say why, and close a connection whose request was not read."""
        body = sentence.encode()
        head = (
            f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length:"
            f" {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class BoundedSocket(WebSocketsSansIOProtocol):
    """A WebSocket, with the seat of the connection that it was made of.

    Messages above the limit are dropped as they arrive. A client that sends more bytes than its
    reader's share per second is read more slowly.
    """

    transport: asyncio.Transport

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._seats, self.close_timeout = connections, CLOSE_SECONDS
        self._filter = FrameFilter(round(MESSAGE_KILOBYTES.value() * 1000))
        self._charge: Callable[[int], float] = lambda count: 0.0
        self._reading: asyncio.TimerHandle | None = None

    def begin_session(self) -> bool:
        """Return whether there is room for the session of this socket, and count it if so."""
        return self._seats.begin_session(self.transport)

    def charge_with(self, charge: Callable[[int], float]) -> None:
        """Hold the socket to a share of bytes.

        Args:
            charge: notes bytes, and returns the seconds to wait before more are read.
        """
        self._charge = charge

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first message from now on."""
        super().connection_made(transport)
        self._seats.wait(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up the seat."""
        if self._reading is not None:
            self._reading.cancel()
        self._seats.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand on the handshake as it is, and of the rest what the filter leaves."""
        if not self.handshake_initiated:
            return super().data_received(data)
        wait = self._charge(len(data))
        if wait > 0 and self._reading is None:
            self.transport.pause_reading()
            self._reading = self.loop.call_later(wait, self._read_on)
        if kept := self._filter.feed(data):
            super().data_received(kept)
        return None

    def _read_on(self) -> None:
        self._reading = None
        # uvicorn itself pauses while a message waits for the app, and resumes then.
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    async def run_asgi(self) -> None:
        """Run the app, which says when the session begins."""
        self.scope["state"][SOCKET] = self
        await super().run_asgi()

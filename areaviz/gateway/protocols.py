"""The two protocols of uvicorn with limits on heads, bodies, idle time, messages and connections.

uvicorn itself waits forever for the head of a request, and does not count sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from areaviz.gateway.frames import FrameFilter
from areaviz.gateway.limits import NO_ROOM, Connections
from areaviz.shares.limits import HEAD_SECONDS, MESSAGE_KILOBYTES

HEAD_BYTES = 32768

# Minimum rate of a whole body, and minimum number of bytes in each window of a few seconds.
BODY_BYTES_PER_SECOND = 16_384
WINDOW_SECONDS, WINDOW_BYTES = 5.0, 20_480

# Seconds for which a client may stop reading a response, and seconds to answer a closing handshake.
STALLED_SECONDS, CLOSE_SECONDS = 60.0, 2.0

# The key of the `BoundedSocket` in the state of a socket's scope.
SOCKET = "areaviz_socket"

# Stands in place of the number of head bytes while a body arrives.
_IN_BODY = -1


class BoundedRequests(HttpToolsProtocol):
    """An HTTP connection that takes one of the slots in `connections`."""

    transport: asyncio.Transport

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._seats, self._head_bytes = connections, 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._window: asyncio.TimerHandle | None = None
        self._window_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head, or answer that there is no free slot."""
        super().connection_made(transport)
        if self._seats.try_admit(transport):
            self._allow(HEAD_SECONDS.value())
        else:
            self._end(503, NO_ROOM)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the slot, and stop all timers."""
        self._allow(None)
        self._end_window()
        self.resume_writing()
        self._seats.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data, unless the head has become too long."""
        left = HEAD_BYTES - self._head_bytes
        if self._head_bytes != _IN_BODY and len(data) > left:
            # The bytes within the limit may complete the head.
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
        """Start waiting for the rest of a head."""
        super().on_message_begin()
        self._head_bytes = max(self._head_bytes, 0)
        if self._reading is None:
            self._allow(HEAD_SECONDS.value())

    def on_headers_complete(self) -> None:
        """Mark the connection as busy, and allow time for the body according to its length."""
        self._head_bytes = _IN_BODY
        self._seats.mark_request_received(self.transport)
        self._allow(HEAD_SECONDS.value() + self._length() / BODY_BYTES_PER_SECOND)
        self._begin_window()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the timers of the body."""
        self._head_bytes = 0
        self._allow(None)
        self._end_window()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Mark the connection as waiting, so that it can be closed to make room."""
        self._seats.wait(self.transport)
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Pass the connection and its slot on to the WebSocket protocol."""
        self._allow(None)
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Start waiting for a client that reads nothing at the moment."""
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
        """End the connection if too little of the body has arrived while the app was reading."""
        if self._window_bytes < WINDOW_BYTES and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._begin_window()

    def _length(self) -> int:
        given = dict(self.headers).get(b"content-length", b"0")
        return int(given) if given.isdigit() and len(given) < 12 else 0

    def _allow(self, seconds: float | None) -> None:
        """End the connection after some seconds of reading. None removes the limit."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if seconds is not None:
            self._reading = self.loop.call_later(seconds, self.transport.abort)

    def _end(self, status: int, sentence: str) -> None:
        """Send the reason, and close a connection whose request was not read."""
        body = sentence.encode()
        head = (
            f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length:"
            f" {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class BoundedSocket(WebSocketsSansIOProtocol):
    """A WebSocket with the slot of its connection.

    Messages above the limit are dropped on arrival. A client that sends more bytes per second than
    its user's quota is read more slowly.
    """

    transport: asyncio.Transport

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._seats, self.close_timeout = connections, CLOSE_SECONDS
        self._filter = FrameFilter(round(MESSAGE_KILOBYTES.value() * 1000))
        self._charge: Callable[[int], float] = lambda count: 0.0
        self._reading: asyncio.TimerHandle | None = None

    def begin_session(self) -> bool:
        """Count the session of this socket if there is room, and return whether it was counted."""
        return self._seats.begin_session(self.transport)

    def charge_with(self, charge: Callable[[int], float]) -> None:
        """Apply a quota of bytes to the socket.

        Args:
            charge: counts bytes, and returns the seconds to wait before more are read.
        """
        self._charge = charge

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start waiting for the first message."""
        super().connection_made(transport)
        self._seats.wait(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the slot."""
        if self._reading is not None:
            self._reading.cancel()
        self._seats.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass on the whole handshake, and later only the bytes that the filter keeps."""
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
        # uvicorn itself pauses while a message waits for the app, and then resumes.
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    async def run_asgi(self) -> None:
        """Run the app, which reports when the session starts."""
        self.scope["state"][SOCKET] = self
        await super().run_asgi()

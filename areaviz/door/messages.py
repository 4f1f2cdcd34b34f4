"""What a socket may say: its first message must come in time, and needless ones are dropped."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.door.http import Head
from areaviz.door.streamlit_parts import is_known_session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SILENT_SECONDS = 30.0

# The messages that the app needs. Of the others, "clear_cache" would empty every visitor's caches.
PASSED = frozenset(
    (
        "rerun_script",
        "stop_script",
        "file_urls_request",
        "app_heartbeat",
        "backend_operation_request",
    )
)

# Why a socket is closed: silence, a text, no message of Streamlit's, no room.
SILENT, UNSUPPORTED, BROKEN, FULL = 1000, 1003, 1002, 1013


async def converse(
    app: ASGIApp,
    head: Head,
    scope: Scope,
    receive: Receive,
    send: Send,
    has_room: Callable[[], bool],
) -> None:
    """Run the app for a socket that has passed the door, once its first message is there.

    Streamlit begins a session, which takes memory and file descriptors, as soon as it gets a
    socket; so it gets it late. A socket that comes back to its session is passed on at once: its
    page may have nothing to say.

    Args:
        has_room: whether the server has room for a session.
    """
    connect = await receive()
    socket = _Socket(receive, send)
    if connect["type"] != "websocket.connect":
        return
    # Streamlit's list of protocols has its own name first, and third the session to come back to.
    protocols = [word.strip() for word in head.one("sec-websocket-protocol").split(",")]
    session = protocols[2] if len(protocols) > 2 else ""
    if not is_known_session(session):
        await send({"type": "websocket.accept", "subprotocol": protocols[0] or None})
        socket.is_accepted = True
        first = await _first_message(socket)
        if first is None:
            return
        socket.held.append(first)
    if not has_room():
        await send({"type": "websocket.close", "code": FULL})
        return
    socket.held.appendleft(connect)
    await app(scope, socket.receive, socket.send)


class _Socket:
    """A socket as the app gets it; `held` has the messages that came before the app ran."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.held: deque[Message] = deque()
        self.is_accepted = False

    async def receive(self) -> Message:
        """The next message that may pass."""
        if self.held:
            return self.held.popleft()
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            kind, code = _kind(message.get("bytes"))
            if code:
                await self._send({"type": "websocket.close", "code": code})
                return {"type": "websocket.disconnect", "code": code}
            if kind in PASSED:
                return message

    async def send(self, message: Message) -> None:
        """Send what the app sends, except for accepting again what was accepted."""
        if self.is_accepted and message["type"] == "websocket.accept":
            return
        await self._send(message)


async def _first_message(socket: _Socket) -> Message | None:
    """The first message; None where none came in time."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            message = await socket.receive()
    except TimeoutError:
        await socket.send({"type": "websocket.close", "code": SILENT})
        return None
    return message if message["type"] == "websocket.receive" else None


def _kind(content: bytes | None) -> tuple[str | None, int]:
    """The kind of a message, and a code to close its socket with, or 0."""
    if content is None:
        return None, UNSUPPORTED
    message = BackMsg()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return None, BROKEN
    return message.WhichOneof("type"), 0

"""What a socket may say: its first message has to come, and messages that the app does not need are
dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.door.head import Head
from areaviz.door.streamlit_parts import is_known_session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SILENT_SECONDS = 30.0
PASSED = frozenset(
    (
        "rerun_script",
        "stop_script",
        "file_urls_request",
        "app_heartbeat",
        "backend_operation_request",
    )
)
"""Kinds of messages that the app needs. Of the others, "clear_cache" would empty the caches of all
visitors.
"""
UNSUPPORTED, BROKEN, FULL = 1003, 1002, 1013
"""Codes of closing: a text, no message of Streamlit's, no room."""


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
    socket; so it gets it later. A socket that comes back to its session is handed on at once: its
    page may have nothing to say.

    Args:
        has_room: whether the server has room for a session.
    """
    connect = await receive()
    socket = _Socket(receive, send)
    if connect["type"] != "websocket.connect":
        return
    if not is_known_session(_session(head)):
        await send({"type": "websocket.accept", "subprotocol": _protocol(head)})
        socket.is_accepted = True
        first = await _first(socket)
        if first is None:
            return
        socket.held.append(first)
    if not has_room():
        await send({"type": "websocket.close", "code": FULL})
        return
    socket.held.appendleft(connect)
    await app(scope, socket.receive, socket.send)


class _Socket:
    """A socket as the app gets it. held: messages that came before the app ran."""

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
            code, passes = _judged(message)
            if code:
                await self._send({"type": "websocket.close", "code": code})
                return {"type": "websocket.disconnect", "code": code}
            if passes:
                return message

    async def send(self, message: Message) -> None:
        """What the app sends, but that it accepts what was accepted."""
        if self.is_accepted and message["type"] == "websocket.accept":
            return
        await self._send(message)


async def _first(socket: _Socket) -> Message | None:
    """The first message, None where none came in time."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            message = await socket.receive()
    except TimeoutError:
        await socket.send({"type": "websocket.close", "code": 1000})
        return None
    return message if message["type"] == "websocket.receive" else None


def _judged(message: Message) -> tuple[int, bool]:
    """A code to close the socket with, or 0; and whether the message passes."""
    content = message.get("bytes")
    if content is None:
        return UNSUPPORTED, False
    asked = BackMsg()
    try:
        asked.ParseFromString(content)
    except DecodeError:
        return BROKEN, False
    return 0, asked.WhichOneof("type") in PASSED


def _protocol(head: Head) -> str | None:
    """Streamlit's list of protocols has its own name first, and the session that a page comes back
    to third.
    """
    return _words(head)[0] or None


def _session(head: Head) -> str:
    return (*_words(head), "", "")[2]


def _words(head: Head) -> list[str]:
    return [word.strip() for word in head.one("sec-websocket-protocol").split(",")]

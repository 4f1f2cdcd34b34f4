"""Rules for messages from a WebSocket, on their time, size and frequency.

If a message breaks a rule, a note on the page says so and the session continues. A message that the
app does not need is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.RootContainer_pb2 import RootContainer

from areaviz.gateway.frames import TOO_LARGE
from areaviz.gateway.http import Head
from areaviz.gateway.message_check import RERUN, BrokenMessage, find_kind
from areaviz.gateway.streamlit_parts import is_known_session
from areaviz.shares.limits import FIRST_MESSAGE_SECONDS, MESSAGE_KILOBYTES
from areaviz.trace.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Maximum length of messages that are checked without a thread, in less than 10 ms.
SHORT_BYTES = 8192

# Codes with which a socket is closed.
SILENT, UNSUPPORTED, BROKEN, FULL = 1000, 1003, 1002, 1013


@dataclass(frozen=True, slots=True)
class SocketRules:
    """Rules that depend on the server and on the user's other sockets.

    Args:
        has_room: returns whether the server has room for a session.
        next_wait: counts a message, and returns the seconds to wait before it is passed on.
        next_rerun_wait: counts a message that makes the app run a page, and returns the seconds to
            wait. It is called after `next_wait`, and both waits apply.
    """

    has_room: Callable[[], bool]
    next_wait: Callable[[], float]
    next_rerun_wait: Callable[[], float]


async def run_conversation(
    app: ASGIApp, head: Head, scope: Scope, receive: Receive, send: Send, rules: SocketRules
) -> None:
    """Run the app for an admitted socket, once its first message has arrived.

    As soon as Streamlit gets a socket, it starts a session, which takes memory and file
    descriptors. It therefore gets the socket only with the first message. A socket that returns to
    its session is passed on at once, because its page may have nothing to send.
    """
    connect = await receive()
    socket = _Socket(receive, send, rules)
    if connect["type"] != "websocket.connect":
        return
    # The first entry of Streamlit's list of protocols is its own name. The third entry is the
    # session to return to.
    protocols = [word.strip() for word in head.one("sec-websocket-protocol").split(",")]
    session = protocols[2] if len(protocols) > 2 else ""
    if not is_known_session(session):
        await send({"type": "websocket.accept", "subprotocol": protocols[0] or None})
        socket.is_accepted = True
        first = await _receive_first_message(socket)
        if first is None:
            return
        socket.held.append(first)
    if not rules.has_room():
        await send({"type": "websocket.close", "code": FULL})
        return
    socket.held.appendleft(connect)
    await app(scope, socket.receive, socket.send)


class _Socket:
    """A socket for the app. `held` contains the messages that came before the app ran."""

    def __init__(self, receive: Receive, send: Send, rules: SocketRules) -> None:
        self._receive, self._send, self._rules = receive, send, rules
        self.held: deque[Message] = deque()
        self.is_accepted = False

    async def receive(self) -> Message:
        """Return the next message that is allowed."""
        if self.held:
            return self.held.popleft()
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            await asyncio.sleep(self._rules.next_wait())
            content = message.get("bytes")
            if content is None:
                return await self._close(UNSUPPORTED)
            try:
                kind = await _find_kind(content)
            except BrokenMessage:
                return await self._close(BROKEN)
            except InputError as error:
                await self._send(
                    {"type": "websocket.send", "bytes": make_refusal_message(str(error))}
                )
                continue
            if kind == RERUN:
                await asyncio.sleep(self._rules.next_rerun_wait())
            if kind:
                return message

    async def send(self, message: Message) -> None:
        """Send the app's messages, except a second acceptance of the handshake."""
        if self.is_accepted and message["type"] == "websocket.accept":
            return
        await self._send(message)

    async def _close(self, code: int) -> Message:
        await self._send({"type": "websocket.close", "code": code})
        return {"type": "websocket.disconnect", "code": code}


async def _receive_first_message(socket: _Socket) -> Message | None:
    """Return the first message, or None if no message came in time."""
    try:
        async with asyncio.timeout(FIRST_MESSAGE_SECONDS.value()):
            message = await socket.receive()
    except TimeoutError:
        await socket.send({"type": "websocket.close", "code": SILENT})
        return None
    return message if message["type"] == "websocket.receive" else None


async def _find_kind(content: bytes) -> str:
    """Return the kind of a message, "" if the app does not need it.

    Raises:
        BrokenMessage: the bytes are not a Streamlit message.
        InputError: the message contains too many values.
    """
    if content.endswith(TOO_LARGE):
        raise InputError(MESSAGE_KILOBYTES.refusal())
    if len(content) <= SHORT_BYTES:
        return find_kind(content)
    return await asyncio.to_thread(find_kind, content)


def make_refusal_message(sentence: str) -> bytes:
    """Return the message that makes a page say that its last change was not accepted."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [RootContainer.EVENT, 0]
    toast = message.delta.new_element.toast
    toast.body, toast.duration = f"Your last change was not accepted. {sentence}", 0
    content: bytes = message.SerializeToString()
    return content

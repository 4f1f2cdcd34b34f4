"""Rules for the messages of a page, on their time, size, frequency and number of values.

Streamlit's private parts come first, then the count of values in a message, and then the rules.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.RootContainer_pb2 import RootContainer
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from areaviz.gateway.protocols import TOO_LARGE, Head
from areaviz.shares import FIRST_MESSAGE_SECONDS, MESSAGE_KILOBYTES, MESSAGE_VALUES, MESSAGE_WIDGETS
from areaviz.trace.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# Access to private parts of Streamlit that the gateway needs. Each one has a test.


def count_sessions() -> tuple[int, int]:
    """Return the number of sessions with a visitor, and of sessions kept for a returning one."""
    manager = _get_manager()
    return len(manager.list_active_sessions()), len(manager._session_storage.list())


def is_known_session(session: str) -> bool:
    """Return whether a socket that names this session can resume it."""
    manager = _get_manager()
    return manager.is_active_session(session) or manager._session_storage.get(session) is not None


def is_active_session(session: str) -> bool:
    """Return whether a visitor has this session open."""
    return _get_manager().is_active_session(session)


def count_uploaded_bytes() -> dict[str, int]:
    """Return the bytes of uploaded files by session."""
    files = Runtime.instance().uploaded_file_mgr
    assert isinstance(files, MemoryUploadedFileManager)
    with files._lock:
        stored = files.file_storage.items()
        return {session: sum(len(one.data) for one in own.values()) for session, own in stored}


def _get_manager() -> WebsocketSessionManager:
    manager = Runtime.instance()._session_mgr
    assert isinstance(manager, WebsocketSessionManager)
    return manager


# A check of a page's message before it is parsed, by the number of values in it.
#
# A message is a Streamlit `BackMsg`. A megabyte can contain half a million values of two bytes
# each, and each would become an object of a hundred bytes.


# The kinds of messages that the app needs. "clear_cache" is missing, because it would clear the
# caches of all visitors.
PASSED = frozenset(
    (
        "rerun_script",
        "stop_script",
        "file_urls_request",
        "app_heartbeat",
        "backend_operation_request",
    )
)

# The kind of message that makes the app run a page.
RERUN = "rerun_script"

_MAX_DEPTH = 16
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIDGETS = "WidgetStates.widgets"
_TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


class BrokenMessage(Exception):
    """The bytes are not a Streamlit message."""


@dataclass(slots=True)
class _Counts:
    values: int
    widgets: int


@dataclass(frozen=True, slots=True)
class _Field:
    # The message type of a field that contains a message, or None.
    message: Any
    is_widget: bool
    # True if each byte can be a value, because the numbers are packed.
    is_packed: bool


def find_kind(content: bytes) -> str:
    """Return the kind of a message, "" if the app does not need such messages.

    Values are counted before objects are created.

    Raises:
        BrokenMessage: the bytes are not a Streamlit message.
        InputError: the message contains more widgets or values than a page sends.
    """
    counts = _Counts(values=round(MESSAGE_VALUES.value()), widgets=round(MESSAGE_WIDGETS.value()))
    try:
        _count(content, 0, len(content), BackMsg.DESCRIPTOR, counts, 0)
        message = BackMsg.FromString(content)
    except (IndexError, DecodeError) as error:
        raise BrokenMessage from error
    kind = message.WhichOneof("type") or ""
    return kind if kind in PASSED else ""


def _count(content: bytes, at: int, end: int, descriptor: Any, left: _Counts, depth: int) -> None:
    """Subtract the values of one message from the numbers of values that are still allowed.

    Args:
        content: all bytes.
        at: the start of the message.
        end: the end of the message.
        descriptor: the type of the message.
        left: the numbers of values and widgets that are still allowed.
        depth: the number of messages that contain this one.
    """
    if depth > _MAX_DEPTH:
        raise BrokenMessage
    fields = _list_fields(descriptor)
    while at < end:
        tag, at = _read_varint(content, at)
        field, wire = fields.get(tag >> 3), tag & 7
        left.values -= 1
        if wire == _LENGTH:
            size, at = _read_varint(content, at)
            if at + size > end:
                raise BrokenMessage
            if field is not None and field.message is not None:
                left.widgets -= field.is_widget
                _count(content, at, at + size, field.message, left, depth + 1)
            elif field is not None and field.is_packed:
                left.values -= size
            at += size
        else:
            at = _skip(content, at, wire)
        if left.widgets < 0:
            raise InputError(MESSAGE_WIDGETS.refusal())
        if left.values < 0:
            raise InputError(MESSAGE_VALUES.refusal())
    if at != end:
        raise BrokenMessage


def _skip(content: bytes, at: int, wire: int) -> int:
    """Return the position after the number that starts at `at`."""
    if wire == _VARINT:
        return _read_varint(content, at)[1]
    if wire == _FIXED64:
        return at + 8
    if wire == _FIXED32:
        return at + 4
    raise BrokenMessage


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length and its end. Raise IndexError if the bytes end first."""
    byte = content[at]
    if byte < 0x80:
        return byte, at + 1
    number, shift = byte & 0x7F, 7
    while shift < 70:
        at += 1
        byte = content[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
        shift += 7
    raise BrokenMessage


@lru_cache(maxsize=64)
def _list_fields(descriptor: Any) -> Mapping[int, _Field]:
    """Return the needed properties of a message type's fields, by their numbers."""
    found = {}
    for field in descriptor.fields:
        found[field.number] = _Field(
            message=field.message_type,
            is_widget=field.full_name == _WIDGETS,
            is_packed=field.is_repeated and field.type not in _TEXTS,
        )
    return found


# Rules for messages from a WebSocket, on their time, size and frequency.
#
# If a message breaks a rule, a note on the page says so and the session continues. A message that
# the app does not need is dropped.


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

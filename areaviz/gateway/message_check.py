"""A check of a page's message before it is parsed, by the number of values in it.

A message is a Streamlit `BackMsg`. A megabyte can contain half a million values of two bytes each,
and each would become an object of a hundred bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.shares.limits import MESSAGE_VALUES, MESSAGE_WIDGETS
from areaviz.trace.errors import InputError

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

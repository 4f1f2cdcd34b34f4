"""Removal of WebSocket messages that are too large on arrival, without closing the connection.

uvicorn would collect a whole message before anything could check it, and would close the connection
for a message above its limit. The browser would then reconnect and send the message again.
"""

from __future__ import annotations

import secrets

# The text that replaces a message that was too large. It is random, so that no client can send it.
TOO_LARGE = secrets.token_bytes(16)

# Bytes added to the size of every frame, so that the number of empty frames is limited too.
_FRAME_COST = 64

_FINAL, _MASKED = 0x80, 0x80
_CONTINUATION, _BINARY, _CONTROL = 0x0, 0x2, 0x8


class FrameFilter:
    """Copies the frames that a client sends, without messages that are too large.

    As soon as such a message is known to be too large, the filter ends it with a frame that
    contains `TOO_LARGE`. It drops the remaining bytes on arrival. RFC 6455, section 5.2, defines
    frames.

    Args:
        max_bytes: maximum size of a message that is copied.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # The incomplete head of the next frame.
        self._head = bytearray()
        # Number of missing bytes of the current frame's payload, and whether to copy them.
        self._left, self._is_copied = 0, True
        # Number of bytes of the current message so far, and whether to drop the remaining bytes.
        self._message_bytes, self._is_dropping = 0, False

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to pass on after the client has sent these bytes."""
        view, kept = memoryview(data), bytearray()
        while view:
            if self._left:
                part = view[: self._left]
                if self._is_copied:
                    kept += part
                self._left -= len(part)
                view = view[len(part) :]
            else:
                view = self._read_head(view, kept)
        return bytes(kept)

    def _read_head(self, view: memoryview, kept: bytearray) -> memoryview:
        """Collect the head of a frame, and decide about the frame when the head is complete."""
        while view:
            wanted = self._head_length() - len(self._head)
            self._head += view[:wanted]
            view = view[wanted:]
            if len(self._head) == self._head_length():
                self._begin_frame(kept)
                self._head.clear()
                break
        return view

    def _head_length(self) -> int:
        """Return the length of the head, or of the part that is known from its first two bytes."""
        if len(self._head) < 2:
            return 2
        more = {126: 2, 127: 8}.get(self._head[1] & 0x7F, 0)
        return 2 + more + (4 if self._head[1] & _MASKED else 0)

    def _begin_frame(self, kept: bytearray) -> None:
        first, second = self._head[0], self._head[1] & 0x7F
        size = second
        if second >= 126:
            size = int.from_bytes(self._head[2 : 4 if second == 126 else 10], "big")
        self._left, self._is_copied = size, True
        opcode, is_final = first & 0x0F, bool(first & _FINAL)
        if opcode >= _CONTROL:
            # Control frames such as pings may come between the frames of a message. They are always
            # copied, because the protocol limits their size.
            kept += self._head
            return
        if opcode != _CONTINUATION:
            self._message_bytes, self._is_dropping = 0, False
        self._message_bytes += size + _FRAME_COST
        if self._is_dropping:
            self._is_copied = False
        elif self._message_bytes > self._max_bytes + _FRAME_COST:
            self._is_copied, self._is_dropping = False, True
            kept += _make_final_frame(opcode)
        else:
            kept += self._head
        if is_final:
            self._message_bytes, self._is_dropping = 0, False


def _make_final_frame(opcode: int) -> bytes:
    """Return the last frame of a message, masked with zeros, with `TOO_LARGE` as its payload."""
    kind = _CONTINUATION if opcode == _CONTINUATION else _BINARY
    return bytes([_FINAL | kind, _MASKED | len(TOO_LARGE)]) + bytes(4) + TOO_LARGE

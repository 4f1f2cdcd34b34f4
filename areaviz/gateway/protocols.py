"""HTTP and WebSocket protocols of the gateway, with limits on clients.

Responses, base paths, limits on connections and the filter of large messages come first. The
two protocols of uvicorn use them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from areaviz.backend.access import is_loopback
from areaviz.shares import HEAD_SECONDS, MESSAGE_KILOBYTES
from areaviz.trace.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# HTTP for the gateway: the heads of requests and handshakes, and the gateway's own responses.


Headers = Iterable[tuple[str, str]]
NOTHING_LOADED = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://(.+)")
# A path on this server. A path with a second slash would be the URL of another server.
_PLACE = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Head:
    """The parts of a request or a handshake that the gateway checks.

    Args:
        method: the method, such as "GET", or "" for a WebSocket.
        path: the path without the query.
        query: the query without its question mark.
        headers: all values of every header, by its name in lower case.
        client: the address of the client, "" if it is unknown.
        secure: whether the connection uses TLS.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, tuple[str, ...]]
    client: str
    secure: bool

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """Read the head of an ASGI scope of type "http" or "websocket"."""
        headers: dict[str, tuple[str, ...]] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1").lower()
            headers[name] = (*headers.get(name, ()), value.decode("latin-1"))
        return cls(
            method=scope.get("method", ""),
            path=scope["path"],
            query=scope.get("query_string", b"").decode("latin-1"),
            headers=headers,
            client=(scope.get("client") or ("",))[0],
            secure=scope.get("scheme") in ("https", "wss"),
        )

    def one(self, name: str) -> str:
        """Return the value of a header, or "" if it is absent or given twice."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else ""

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, or "" if it is absent.

        If a cookie is given twice, the last one counts, as in Streamlit.
        """
        found = ""
        for header in self.headers.get("cookie", ()):
            for part in header.split(";"):
                given, _, value = part.partition("=")
                if given.strip() == name:
                    found = value.strip()
        return found

    def is_for(self, names: frozenset[str]) -> bool:
        """Return whether the request names this server and does not come from another website.

        Names are compared as text, so no name server is queried.
        """
        hosts, origins = self.headers.get("host", ()), self.headers.get("origin", ())
        # The app might read the second of two headers with equal names.
        if len(hosts) != 1 or len(origins) > 1:
            return False
        name, port = name_and_port(hosts[0])
        if not name or name not in names:
            return False
        return not origins or _is_same_site(origins[0], name, port)


def name_and_port(host: str) -> tuple[str, str]:
    """Return name and port of a Host header, "" for a missing part.

    The name is in lower case, without brackets and without a final dot.
    """
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return "", ""
    return found[1].strip("[]").rstrip("."), found[2] or ""


def _is_same_site(origin: str, name: str, port: str) -> bool:
    """Return whether a page's origin has the name and the port of the request's Host header."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return False
    # Browsers omit the default port in both headers.
    default = _PORTS[found[1]]
    its_name, its_port = name_and_port(found[2])
    return its_name == name and (its_port or default) == (port or default)


async def answer_text(send: Send, status: int, sentence: str, headers: Headers = ()) -> None:
    """Answer with plain text."""
    policy = ("content-security-policy", NOTHING_LOADED)
    await _answer(send, status, sentence, "text/plain", (policy, *headers))


async def answer_page(send: Send, status: int, html: str, headers: Headers) -> None:
    """Answer with a page of the gateway. Its security policy is among the headers."""
    await _answer(send, status, html, "text/html", headers)


async def redirect(send: Send, address: str, headers: Headers = ()) -> None:
    """Redirect the browser to a path of this server, or to "/" if the URL is not such a path."""
    address = address if _PLACE.fullmatch(address) else "/"
    await _answer(send, 303, "", "text/plain", (("location", address), *headers))


async def refuse_socket(receive: Receive, send: Send) -> None:
    """Refuse a handshake. The web server then answers with status 403."""
    await receive()
    await send({"type": "websocket.close", "code": 1008})


async def _answer(send: Send, status: int, text: str, kind: str, headers: Headers) -> None:
    body = text.encode("utf-8")
    own = (("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body))))
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in (*own, *_ALWAYS, *headers)]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


# Serving of an app below a path such as /areaviz, behind a proxy that strips or keeps it.


_BASE = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


def check_base_path(base: str) -> str:
    """Return a base path without a final slash, or "" if the app has none.

    Raises:
        InputError: the path is not one that all proxies pass on unchanged.
    """
    base = base.rstrip("/")
    if base and not _BASE.fullmatch(base):
        raise InputError(
            f'The base path "{base}" cannot be used. Write it as /NAME, with letters, digits'
            " and any of ._~- in NAME."
        )
    return base


@dataclass(frozen=True, slots=True)
class BasePath:
    """Passes requests on to `app` without the base path, and adds it to redirects.

    A page loads everything by relative URLs. The app therefore works without knowing the base path,
    and a proxy may strip it.

    Args:
        app: answers requests without the base path.
        base: the base path as `check_base_path` returns it.
    """

    app: ASGIApp
    base: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request or a WebSocket."""
        if not self.base or scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if scope["path"] == self.base and scope["type"] == "http":
            # The relative URLs of the first page require the final slash.
            query = scope.get("query_string", b"").decode("latin-1")
            return await redirect(send, f"{self.base}/{'?' if query else ''}{query}")

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [self._add_path(name, value) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        return await self.app(self._strip_path(scope), receive, send_below)

    def _strip_path(self, scope: Scope) -> Scope:
        if not scope["path"].startswith(f"{self.base}/"):
            return scope
        stripped = {**scope, "path": scope["path"].removeprefix(self.base)}
        if "raw_path" in scope:
            stripped["raw_path"] = scope["raw_path"].removeprefix(self.base.encode())
        return stripped

    def _add_path(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        if name.lower() == b"location" and value.startswith(b"/"):
            return name, self.base.encode() + value
        return name, value


# Limits on the number of connections. An idle connection is closed to make room for a new one.
#
# The limit is on file descriptors, because they run out first. A connection takes one. A session
# takes three more, which Streamlit frees only minutes after the visitor has left. The number of
# open descriptors is therefore taken from the operating system.


try:
    import resource
except ImportError:  # Windows has no such limit.
    resource = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

# Descriptors of a session in addition to its connection, and descriptors reserved for files,
# databases and sessions that are about to start.
DESCRIPTORS_PER_SESSION, RESERVED_DESCRIPTORS = 3, 64

# Maximum number of connections in total, and from one address that is neither local nor a proxy's.
MAX_CONNECTIONS, MAX_CONNECTIONS_PER_CLIENT = 4096, 128
UNLIMITED = 65536
LOOK_SECONDS = 0.25
NO_ROOM = "This server has no room for more visitors at the moment. Try again in a minute."


@dataclass(slots=True)
class ConnectionSlot:
    """The address of a connection, and whether it waits for its next request."""

    client: str
    waiting: bool = True


class Connections:
    """The connections of the server, the oldest first.

    Args:
        limit: the limit on file descriptors of the process, or None without a limit.
        proxies: addresses from which connections of many users come.
    """

    def __init__(self, limit: int | None, proxies: tuple[str, ...] = ()) -> None:
        self._limit, self._proxies = limit, proxies
        self._seats: dict[asyncio.BaseTransport, ConnectionSlot] = {}
        self._by_client: Counter[str] = Counter()
        # Descriptors in use at the last check, descriptors taken since then, and the time of the
        # check.
        self._seen, self._since, self._looked = 0, 0, -1.0

    def __len__(self) -> int:
        return len(self._seats)

    def try_admit(self, transport: asyncio.BaseTransport) -> bool:
        """Admit a new connection if there is room, and return whether it was admitted.

        The oldest waiting connection is closed to make room if necessary.
        """
        client = str((transport.get_extra_info("peername") or [""])[0])
        if self._by_client[client] >= MAX_CONNECTIONS_PER_CLIENT and not self._is_shared(client):
            log.warning(
                "%s has %d connections. Another one was refused.",
                client,
                MAX_CONNECTIONS_PER_CLIENT,
            )
            return False
        if not self._make_room(1, RESERVED_DESCRIPTORS):
            return False
        self._seats[transport] = ConnectionSlot(client)
        self._by_client[client] += 1
        self._since += 1
        return True

    def begin_session(self, transport: asyncio.BaseTransport) -> bool:
        """Count the session of a WebSocket if there is room, and return whether it was counted."""
        self.mark_request_received(transport)
        if not self._make_room(DESCRIPTORS_PER_SESSION, RESERVED_DESCRIPTORS // 2):
            return False
        self._since += DESCRIPTORS_PER_SESSION
        return True

    def mark_request_received(self, transport: asyncio.BaseTransport) -> None:
        """Mark a connection as busy with a request, so that it is not closed to make room."""
        if seat := self._seats.get(transport):
            seat.waiting = False

    def wait(self, transport: asyncio.BaseTransport) -> None:
        """Mark a connection as waiting after its response. It becomes the newest waiting one."""
        if seat := self._seats.pop(transport, None):
            seat.waiting = True
            self._seats[transport] = seat

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """Remove a connection that has ended."""
        seat = self._seats.pop(transport, None)
        if seat is None:
            return
        self._by_client[seat.client] -= 1
        if not self._by_client[seat.client]:
            del self._by_client[seat.client]

    def descriptors(self) -> tuple[int, int | None]:
        """Return the number of file descriptors in use, and the limit."""
        if self._limit is None:
            return 0, None
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._seen, self._since, self._looked = len(os.listdir("/dev/fd")), 0, now
        return self._seen + self._since, self._limit

    def _make_room(self, descriptors: int, reserve: int) -> bool:
        """Return whether these descriptors are free. If they are not, close an idle connection."""
        used, limit = self.descriptors()
        if len(self._seats) < MAX_CONNECTIONS and (
            limit is None or used + descriptors + reserve <= limit
        ):
            return True
        oldest = next((transport for transport, seat in self._seats.items() if seat.waiting), None)
        if oldest is None:
            text = "A visitor was refused: %d of %s file descriptors are used (ulimit -Hn)."
            log.warning(text, used, limit)
            return False
        text = "A silent connection was closed for a new one: %d of %s file descriptors are used."
        log.warning(text, used, limit)
        self.leave(oldest)
        # The event loop frees the descriptor before it accepts another connection.
        self._since -= 1
        assert isinstance(oldest, asyncio.WriteTransport)
        oldest.abort()
        return True

    def _is_shared(self, client: str) -> bool:
        """Return whether many users may share an address, as with this machine and proxies."""
        return client in self._proxies or is_loopback(client)


def raise_limit() -> int | None:
    """Raise the soft limit on file descriptors to the hard limit.

    Returns:
        The new limit, or None if the system has none.
    """
    if resource is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


# Removal of WebSocket messages that are too large on arrival, without closing the connection.
#
# uvicorn would collect a whole message before anything could check it, and would close the
# connection for a message above its limit. The browser would then reconnect and send the message
# again.


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


# The two protocols of uvicorn with limits on heads, bodies, idle time, messages and connections.
#
# uvicorn itself waits forever for the head of a request, and does not count sockets.


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

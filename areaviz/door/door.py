"""The one door before the app: what every request and every socket has to pass before Streamlit sees it.

Pure ASGI, because sockets do not pass through other kinds of middleware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from areaviz.backend import cookies
from areaviz.door.answers import answer_text, redirect, refuse_socket
from areaviz.door.head import Head
from areaviz.door.sign_in import PATH, SignIn, without_token

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEALTH, STREAM, UPLOADS = "/_stcore/health", "/_stcore/stream", "/_stcore/upload_file/"
_CORE, _OPEN_CORE = "/_stcore/", (HEALTH, "/_stcore/host-config", UPLOADS, "/_stcore/bidi-components/")
_CLOSED = ("/auth/", "/oauth2callback")
"""Streamlit's own sign-in, which the app does not use."""
_METHODS = ("GET", "HEAD", "OPTIONS")

NOT_OURS = (
    "This address is not one of the names of this server; open the app by one of them, or start it with: "
    "python -m areaviz serve --allow-host NAME."
)


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may come in.

    names: the host names and addresses of this server, in lower case. port: of the server. sign_in: None where no
    token is wanted. framing: origins whose pages may hold the app in a frame.
    """

    names: frozenset[str]
    port: int
    sign_in: SignIn | None = None
    framing: tuple[str, ...] = ()


class Door:
    """Checks what comes to `app`, and refuses what the rules do not allow."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._fixed = _fixed_headers(rules.framing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a socket, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        head = Head.of(scope)
        if head.is_socket:
            return await self._socket(head, scope, receive, send)
        return await self._request(head, scope, receive, send)

    def _admits(self, head: Head) -> bool:
        return self._rules.sign_in is None or self._rules.sign_in.admits(head)

    async def _socket(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        if not (head.is_for(self._rules.names) and head.path == STREAM and self._admits(head)):
            return await refuse_socket(receive, send)
        return await self._app(scope, receive, send)

    async def _request(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        if not head.is_for(self._rules.names):
            return await answer_text(send, 403, NOT_OURS)
        if head.path == HEALTH and not self._admits(head):
            return await answer_text(send, 200, "ok")
        sign_in = self._rules.sign_in
        if sign_in is not None and not sign_in.admits(head):
            return await sign_in.answer(head, receive, send)
        if sign_in is not None and (moved := _moved(head)):
            return await redirect(send, moved)
        if not _is_open(head):
            return await answer_text(send, 404, "There is no such place here.")
        return await self._app(scope, receive, self._with_headers(head, send))

    def _with_headers(self, head: Head, send: Send) -> Send:
        """Adds what every answer of the app has to say, and the reader's cookie to a page."""
        name = cookies.reader_cookie(self._rules.port)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *self._fixed]
                kind = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"text/html") and not cookies.is_reader(head.cookie(name)):
                    headers.append((b"set-cookie", self._new_reader(name, head).encode()))
                message = {**message, "headers": headers}
            await send(message)

        return sending

    def _new_reader(self, name: str, head: Head) -> str:
        framed = bool(self._rules.framing)
        return cookies.set_cookie(name, cookies.new_reader(), cookies.READER_DAYS, head.secure, framed)


def _is_open(head: Head) -> bool:
    """Whether the app behind the door has something there for readers."""
    if head.path.startswith(UPLOADS):
        return head.method in ("PUT", "DELETE", "OPTIONS")
    if head.path.startswith(_CORE) and not head.path.startswith(_OPEN_CORE):
        return False
    return head.method in _METHODS and not head.path.startswith(_CLOSED)


def _moved(head: Head) -> str:
    """Where a reader who is admitted already is sent: to the address without its token; "" where it is in place."""
    token, where = without_token(head)
    return where if token or head.path == PATH else ""


def _fixed_headers(framing: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """What browsers are told with every answer; framing: see `Rules`."""
    ancestors = " ".join(framing) or "'none'"
    pairs = {
        "content-security-policy": f"frame-ancestors {ancestors}",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    if not framing:
        pairs["x-frame-options"] = "DENY"
    return [(name.encode(), value.encode()) for name, value in pairs.items()]

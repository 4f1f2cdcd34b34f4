"""The one door before the app: what every request and every socket has to pass before Streamlit
sees it.

Pure ASGI, because sockets do not pass through other kinds of middleware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from areaviz.backend import access
from areaviz.door.answers import answer_text, redirect, refuse_socket
from areaviz.door.head import Head
from areaviz.door.media import PATH as MEDIA
from areaviz.door.media import Media
from areaviz.door.messages import converse
from areaviz.door.protocols import SEAT
from areaviz.door.sign_in import PATH, SignIn, without_token
from areaviz.door.uploads import PATH as UPLOADS
from areaviz.door.uploads import Uploads

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEALTH, STREAM = "/_stcore/health", "/_stcore/stream"
_CORE, _OPEN_CORE = (
    "/_stcore/",
    (HEALTH, "/_stcore/host-config", UPLOADS, "/_stcore/bidi-components/"),
)
_CLOSED = ("/auth/", "/oauth2callback")
"""Streamlit's own sign-in, which the app does not use."""
_METHODS = ("GET", "HEAD", "OPTIONS")

NOT_OURS = (
    "This address is not one of the names of this server; open the app by one of them, or start it"
    " with: python -m areaviz serve --allow-host NAME."
)


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may come in.

    names: the host names and addresses of this server, in lower case. port: of the server. sign_in:
    None where no token is wanted. framing: origins whose pages may hold the app in a frame.
    back_seconds: how long the session of a reader is kept who may come back.
    """

    names: frozenset[str]
    port: int
    sign_in: SignIn | None = None
    framing: tuple[str, ...] = ()
    back_seconds: float = 120.0


class Door:
    """Checks what comes to `app`, and refuses what the rules do not allow."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules
        self._uploads, self._media = Uploads(app), Media(rules.back_seconds)
        self._cookie = access.reader_cookie(rules.port)
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
        reader = self._reader_of(head)
        self._media.come(reader)
        try:
            return await converse(
                self._app, head, scope, receive, self._noting(reader, send), scope["state"][SEAT]
            )
        finally:
            self._media.leave(reader)

    def _noting(self, reader: str, send: Send) -> Send:
        """Notes the files that a page is told of."""

        async def sending(message: Message) -> None:
            if message["type"] == "websocket.send":
                self._media.tell(reader, message.get("bytes") or b"")
            await send(message)

        return sending

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
        sending = self._with_headers(head, send)
        if head.path.startswith(UPLOADS):
            return await self._uploads(head, scope, receive, sending)
        if head.path.startswith(MEDIA) and not self._media.may_see(
            self._reader_of(head), head.path
        ):
            return await answer_text(
                send, 404, "There is no such file any more; load the page again."
            )
        return await self._app(scope, receive, sending)

    def _with_headers(self, head: Head, send: Send) -> Send:
        """Adds what every answer of the app has to say, and the reader's cookie to a page."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *self._fixed]
                kind = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"text/html") and not self._reader_of(head):
                    headers.append((b"set-cookie", self._new_reader(head).encode()))
                message = {**message, "headers": headers}
            await send(message)

        return sending

    def _reader_of(self, head: Head) -> str:
        """The reader's id, "" where no cookie has one."""
        given = head.cookie(self._cookie)
        return given if access.is_reader(given) else ""

    def _new_reader(self, head: Head) -> str:
        framed = bool(self._rules.framing)
        return access.set_cookie(
            self._cookie, access.new_reader(), access.READER_DAYS, head.secure, framed
        )


def _is_open(head: Head) -> bool:
    """Whether the app behind the door has something there for readers."""
    if head.path.startswith(UPLOADS):
        return head.method in ("PUT", "DELETE", "OPTIONS")
    if head.path.startswith(_CORE) and not head.path.startswith(_OPEN_CORE):
        return False
    return head.method in _METHODS and not head.path.startswith(_CLOSED)


def _moved(head: Head) -> str:
    """Where a reader who is admitted already is sent: to the address without its token; "" where it
    is in place.
    """
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

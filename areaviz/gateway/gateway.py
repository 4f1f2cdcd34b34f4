"""The gateway in front of the app, which checks requests and sockets before Streamlit gets them.

It is plain ASGI, because other kinds of middleware do not see WebSockets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from areaviz.backend import access
from areaviz.gateway.http import Head, answer_text, name_and_port, redirect, refuse_socket
from areaviz.gateway.media import MEDIA, Media
from areaviz.gateway.messages import SocketRules, run_conversation
from areaviz.gateway.protocols import SOCKET
from areaviz.gateway.sign_in import PATH, SignIn, without_token
from areaviz.gateway.uploads import UPLOADS, Uploads
from areaviz.shares.counters import Rates
from areaviz.shares.limits import (
    MESSAGE_KILOBYTES_PER_SECOND,
    MESSAGES_PER_SECOND,
    RERUNS_PER_SECOND,
)
from areaviz.shares.visitors import Visitor, find_network

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Number of seconds whose allowed messages and bytes a user may send at once.
MESSAGE_BURST_SECONDS, BYTE_BURST_SECONDS = 10.0, 30.0

HEALTH, STREAM = "/_stcore/health", "/_stcore/stream"
_CORE = "/_stcore/"
_OPEN_CORE = (HEALTH, "/_stcore/host-config", UPLOADS, "/_stcore/bidi-components/")

# The path of Streamlit's own sign-in, which the app does not use.
_CLOSED = ("/auth/", "/oauth2callback")

NOT_OURS = (
    "This server does not accept the host name in this URL. Open the app under a name that it"
    " accepts, or start it with: python -m areaviz serve --allow-host NAME."
)


@dataclass(frozen=True, slots=True)
class AppPlace:
    """The address at which the app listens, and who may use it.

    Args:
        host: the address to listen at.
        port: the port to listen at.
        names: names by which users reach this machine, besides its address and loopback.
        token: the access token, "" if none is required.
        proxies: addresses of proxies that report the addresses of users.
        framing: origins of websites that may show the app in a frame.
        base: the base path of the app, such as "/areaviz", or "".
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    proxies: tuple[str, ...] = ()
    framing: tuple[str, ...] = ()
    base: str = ""

    @property
    def known_names(self) -> frozenset[str]:
        """The names in lower case by which a request may address this server."""
        names = {*access.LOOPBACK_NAMES, *self.names}
        if self.host not in access.EVERY_ADDRESS:
            names.add(self.host)
        return frozenset(name_and_port(access.bracket_host(name))[0] for name in names)

    @property
    def key(self) -> str:
        """The key that signs admissions, "" if no token is required."""
        return access.make_admission_key(self.token) if self.token else ""


class Gateway:
    """Passes admitted requests on to `app`, and refuses everything else.

    Args:
        app: the Streamlit app.
        place: the address at which the app listens, and who may use it.
        back_seconds: seconds that a session is kept for a user who may return.
    """

    def __init__(self, app: ASGIApp, place: AppPlace, back_seconds: float) -> None:
        self._app, self._names, self._framed = app, place.known_names, bool(place.framing)
        self._sign_in = (
            SignIn(place.key, place.port, place.framing, place.base) if place.token else None
        )
        self._uploads, self._media = Uploads(app), Media(back_seconds)
        self._proxies, self._base = place.proxies, place.base
        self._message_rates = Rates(MESSAGES_PER_SECOND, MESSAGE_BURST_SECONDS)
        self._rerun_rates = Rates(RERUNS_PER_SECOND, MESSAGE_BURST_SECONDS)
        self._byte_rates = Rates(MESSAGE_KILOBYTES_PER_SECOND, BYTE_BURST_SECONDS)
        self._cookie = access.name_reader_cookie(place.port)
        self._headers = _make_common_headers(place.framing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request or a WebSocket, or pass it on."""
        if scope["type"] == "websocket":
            return await self._socket(Head.of(scope), scope, receive, send)
        if scope["type"] == "http":
            return await self._request(Head.of(scope), scope, receive, send)
        return await self._app(scope, receive, send)

    def _is_admitted(self, head: Head) -> bool:
        return self._sign_in is None or self._sign_in.admits(head)

    async def _socket(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        if not (head.is_for(self._names) and head.path == STREAM and self._is_admitted(head)):
            return await refuse_socket(receive, send)
        visitor = self._make_visitor(head)
        reader = visitor.reader
        if not visitor.address:
            # Pages ask Streamlit for the user's address. It is hidden, so that pages do not count
            # all users behind one proxy as one user.
            scope = {**scope, "client": None}

        async def send_noted(message: Message) -> None:
            if message["type"] == "websocket.send":
                self._media.note(reader, message.get("bytes") or b"")
            await send(message)

        self._media.enter(reader)
        try:
            socket = scope["state"][SOCKET]
            socket.charge_with(lambda count: self._byte_rates.charge(visitor, count / 1000))
            rules = SocketRules(
                socket.begin_session,
                next_wait=lambda: self._message_rates.charge(visitor),
                next_rerun_wait=lambda: self._rerun_rates.charge(visitor),
            )
            return await run_conversation(self._app, head, scope, receive, send_noted, rules)
        finally:
            self._media.leave(reader)

    async def _request(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        if not head.is_for(self._names):
            return await answer_text(send, 403, NOT_OURS)
        # Health checks have no cookie. They learn only that the server is up.
        if head.path == HEALTH and not self._is_admitted(head):
            return await answer_text(send, 200, "ok")
        if self._sign_in is not None:
            if not self._sign_in.admits(head):
                return await self._sign_in.answer(head, receive, send)
            # A token must not stay in the URL, where the browser's history and copied links would
            # keep it.
            token, where = without_token(head)
            if token or head.path == PATH:
                return await redirect(send, where)
        if not _is_open(head):
            return await answer_text(send, 404, "This address does not exist here.")
        send_ours = self._with_headers(head, send)
        if head.path.startswith(UPLOADS):
            visitor = self._make_visitor(head)
            return await self._uploads(head, visitor, scope, receive, send_ours)
        is_media = head.path.startswith(MEDIA)
        if is_media and not self._media.may_see(self._read_reader_id(head), head.path):
            return await answer_text(send, 404, "This file is no longer here. Load the page again.")
        return await self._app(scope, receive, send_ours)

    def _with_headers(self, head: Head, send: Send) -> Send:
        """Return `send` with our headers, and with the cookie of a new user on pages."""

        async def send_ours(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], *self._headers]
                kind = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"text/html") and not self._read_reader_id(head):
                    headers.append((b"set-cookie", self._new_reader(head).encode()))
                message = {**message, "headers": headers}
            await send(message)

        return send_ours

    def _make_visitor(self, head: Head) -> Visitor:
        return Visitor(self._read_reader_id(head), find_network(head.client, self._proxies))

    def _read_reader_id(self, head: Head) -> str:
        """Return the user's id, or "" if no cookie has one."""
        given = head.cookie(self._cookie)
        return given if access.is_reader(given) else ""

    def _new_reader(self, head: Head) -> str:
        reader = access.make_reader_id()
        return access.set_cookie(
            self._cookie, reader, access.READER_DAYS, head.secure, self._framed, self._base
        )


def _is_open(head: Head) -> bool:
    """Return whether users may request this URL with this method."""
    if head.path.startswith(UPLOADS):
        return head.method in ("PUT", "DELETE", "OPTIONS")
    if head.path.startswith(_CORE) and not head.path.startswith(_OPEN_CORE):
        return False
    return head.method in ("GET", "HEAD", "OPTIONS") and not head.path.startswith(_CLOSED)


def _make_common_headers(framing: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response, see `AppPlace` for `framing`."""
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

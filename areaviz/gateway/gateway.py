"""The gateway in front of the app, with access to created files and limits on uploads.

`Gateway` in the last section uses the other two.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from areaviz.backend import access
from areaviz.gateway.messages import (
    SocketRules,
    count_uploaded_bytes,
    is_active_session,
    run_conversation,
)
from areaviz.gateway.protocols import (
    SOCKET,
    Head,
    answer_text,
    name_and_port,
    redirect,
    refuse_socket,
)
from areaviz.gateway.sign_in import PATH, SignIn, without_token
from areaviz.shares import (
    MESSAGE_KILOBYTES_PER_SECOND,
    MESSAGES_PER_SECOND,
    RERUNS_PER_SECOND,
    UPLOADED_MEGABYTES,
    UPLOADED_MEGABYTES_ALL,
    UPLOADS_AT_ONCE,
    OverLimit,
    Rates,
    Scope,
    Shares,
    Visitor,
    find_network,
    get_limit_of_scope,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as AsgiScope


# Access to files that the app creates, for the user whose page received their URLs.


MEDIA = "/media/"

# Maximum number of file names per user.
MAX_NAMES = 4096
_ADDRESS = re.compile(r"/media/([0-9A-Za-z._-]+)")


@dataclass(slots=True)
class _Reader:
    open_sockets: int = 0
    # The time when the last socket was closed.
    left: float = 0.0
    # File names in messages to the user, the oldest first.
    files: OrderedDict[str, None] = field(default_factory=OrderedDict)


class Media:
    """The files whose URLs were sent to each user's pages.

    Streamlit serves these URLs to everyone, even for a while after the session has ended. The
    gateway lets them expire when the user's last socket closes, or when the session that is kept
    for a returning user ends. Users are identified by the id in their cookie. Without a cookie no
    file is served.

    Args:
        back_seconds: seconds that a session is kept for a user who may return.
    """

    def __init__(self, back_seconds: float) -> None:
        self._back_seconds = back_seconds
        self._readers: dict[str, _Reader] = {}

    def enter(self, reader: str) -> None:
        """Count a socket that the user opened."""
        self._forget()
        if reader:
            self._readers.setdefault(reader, _Reader()).open_sockets += 1

    def leave(self, reader: str) -> None:
        """Count a socket that the user closed."""
        if known := self._readers.get(reader):
            known.open_sockets -= 1
            known.left = time.monotonic()

    def note(self, reader: str, message: bytes) -> None:
        """Record the files that a message to the user names."""
        if not reader or b"/media/" not in message:
            return
        files = self._readers[reader].files
        for name in find_media_names(message):
            files[name] = None
            files.move_to_end(name)
        while len(files) > MAX_NAMES:
            files.popitem(last=False)

    def may_see(self, reader: str, path: str) -> bool:
        """Return whether the user received this URL and has not left."""
        self._forget()
        known = self._readers.get(reader)
        return known is not None and path.removeprefix(MEDIA) in known.files

    def _forget(self) -> None:
        until = time.monotonic() - self._back_seconds
        for name, reader in list(self._readers.items()):
            if not reader.open_sockets and reader.left < until:
                del self._readers[name]


def find_media_names(content: bytes) -> set[str]:
    """Return the names of the files that a message makes the browser load.

    Only fields with URLs count. Texts come from users and may repeat the URL of another user's
    file.
    """
    message = ForwardMsg()
    try:
        message.ParseFromString(content)
    except DecodeError:
        return set()
    addresses = [message.page_config_changed.favicon, message.logo.image, message.logo.icon_image]
    # The URL of a download whose file is created on request.
    addresses.append(message.backend_operation_response.deferred_file.url)
    if message.HasField("delta"):
        addresses += _iterate_addresses(message.delta.new_element)
    found = [_ADDRESS.fullmatch(address) for address in addresses]
    return {one[1] for one in found if one is not None}


def _iterate_addresses(element: Element) -> Iterator[str]:
    match element.WhichOneof("type"):
        case "imgs":
            yield from (image.url for image in element.imgs.imgs)
        case "audio":
            yield element.audio.url
        case "video":
            yield element.video.url
            yield from (subtitle.url for subtitle in element.video.subtitles)
        case "download_button":
            yield element.download_button.url


# Uploads within the quotas of a session, a user, an address and the whole app.
#
# Bytes count when they arrive. A user who announces files but sends nothing therefore takes no room
# from other users.


UPLOADS = "/_stcore/upload_file/"

# Seconds between checks of whether the session of a silent upload still exists.
LOOK_SECONDS = 2.0
# Maximum seconds that an upload waits for other uploads of the user.
TURN_SECONDS = 60.0

_MEGABYTE = 2**20
NO_SESSION = "This page is no longer connected to the app. Load it again, then choose the file."
NO_LENGTH = "An upload needs the header Content-Length."


@dataclass(slots=True, eq=False)
class _Upload:
    """An upload in progress: its user, and the number of bytes that have arrived."""

    session: str
    visitor: Visitor
    arrived: int = 0


class _Refused(Exception):
    """An upload cannot continue. The error has the reason and the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Uploads:
    """Passes uploads of a connected session on to `app`, within the quotas."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._at_once, self._changed = Shares(UPLOADS_AT_ONCE), asyncio.Condition()
        self._arriving: list[_Upload] = []
        # The user who uploaded to a session that has files.
        self._visitors: dict[str, Visitor] = {}

    async def __call__(
        self, head: Head, visitor: Visitor, scope: AsgiScope, receive: Receive, send: Send
    ) -> None:
        """Pass an upload on, or answer with the reason for refusing it."""
        if head.method != "PUT":
            return await self._app(scope, receive, send)
        upload = _Upload(head.path.removeprefix(UPLOADS).split("/")[0], visitor)
        try:
            self._check_head(head, upload)
            await self._wait_for_turn(visitor)
            try:
                await self._pass_on(upload, scope, receive, send)
            finally:
                await self._end_turn(visitor)
        except _Refused as error:
            await answer_text(send, error.status, error.sentence)

    def _check_head(self, head: Head, upload: _Upload) -> None:
        """Raise _Refused if the head of an upload announces too many bytes."""
        length = head.one("content-length")
        self._check_session(upload)
        # Chunked uploads announce no length, so they could not be refused in time.
        if not length.isdigit() or len(length) > 12 or "transfer-encoding" in head.headers:
            raise _Refused(411, NO_LENGTH)
        self._check_room(upload, int(length))

    async def _wait_for_turn(self, visitor: Visitor) -> None:
        """Wait for a place among the running uploads. Raise _Refused if none becomes free in time.

        Behind a proxy with HTTP/2, browsers send all chosen files at once, so uploads have to wait.
        """
        try:
            async with self._changed, asyncio.timeout(TURN_SECONDS):
                await self._changed.wait_for(lambda: self._at_once.try_take(visitor) is None)
        except TimeoutError as error:
            raise _Refused(429, UPLOADS_AT_ONCE.refusal()) from error

    async def _end_turn(self, visitor: Visitor) -> None:
        self._at_once.release(visitor)
        async with self._changed:
            self._changed.notify_all()

    async def _pass_on(
        self, upload: _Upload, scope: AsgiScope, receive: Receive, send: Send
    ) -> None:
        """Run the app while the upload is allowed. Raise _Refused as soon as it is not."""
        is_refused = False

        async def receive_counted() -> Message:
            nonlocal is_refused
            try:
                message = await self._next_part(upload, receive)
                upload.arrived += len(message.get("body", b""))
                self._check_room(upload, 0)
                return message
            except _Refused:
                is_refused = True
                raise

        async def send_own(message: Message) -> None:
            # The app answers an error of `receive` with status 500 before it raises the error.
            if not is_refused:
                await send(message)

        self._arriving.append(upload)
        self._visitors[upload.session] = upload.visitor
        try:
            await self._app(scope, receive_counted, send_own)
        finally:
            self._arriving.remove(upload)

    async def _next_part(self, upload: _Upload, receive: Receive) -> Message:
        """Return the next part of the body. Raise _Refused if the session ends meanwhile."""
        while True:
            self._check_session(upload)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    return await receive()

    def _check_session(self, upload: _Upload) -> None:
        if not is_active_session(upload.session):
            raise _Refused(403, NO_SESSION)

    def _check_room(self, upload: _Upload, more: int) -> None:
        """Raise _Refused if an upload would exceed a quota.

        Args:
            upload: the upload.
            more: announced bytes in addition to those that have arrived.
        """
        held = dict(count_uploaded_bytes())
        for other in self._arriving:
            held[other.session] = held.get(other.session, 0) + other.arrived
        self._forget(held)
        by_account: dict[tuple[Scope, str], int] = {}
        for session, count in held.items():
            owner = upload.visitor if session == upload.session else self._visitors.get(session)
            for account in owner.accounts() if owner else ():
                by_account[account] = by_account.get(account, 0) + count
        for account in upload.visitor.accounts():
            most = _get_megabyte_limit(account[0]) * _MEGABYTE
            if by_account.get(account, 0) + more > most:
                raise _Refused(413, str(OverLimit(UPLOADED_MEGABYTES, account[0])))
        if sum(held.values()) + more > UPLOADED_MEGABYTES_ALL.value() * _MEGABYTE:
            raise _Refused(413, UPLOADED_MEGABYTES_ALL.refusal())

    def _forget(self, held: dict[str, int]) -> None:
        """Forget the users of sessions that no longer have files."""
        for session in list(self._visitors):
            if session not in held:
                del self._visitors[session]


def _get_megabyte_limit(scope: Scope) -> float:
    """Return the largest number of megabytes per account.

    An address never gets the whole quota, so that users at other addresses have room too.
    """
    most = get_limit_of_scope(UPLOADED_MEGABYTES, scope)
    return min(most, UPLOADED_MEGABYTES_ALL.value() * 3 / 4) if scope is Scope.ADDRESS else most


# The gateway in front of the app, which checks requests and sockets before Streamlit gets them.
#
# It is plain ASGI, because other kinds of middleware do not see WebSockets.


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

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request or a WebSocket, or pass it on."""
        if scope["type"] == "websocket":
            return await self._socket(Head.of(scope), scope, receive, send)
        if scope["type"] == "http":
            return await self._request(Head.of(scope), scope, receive, send)
        return await self._app(scope, receive, send)

    def _is_admitted(self, head: Head) -> bool:
        return self._sign_in is None or self._sign_in.admits(head)

    async def _socket(self, head: Head, scope: AsgiScope, receive: Receive, send: Send) -> None:
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

    async def _request(self, head: Head, scope: AsgiScope, receive: Receive, send: Send) -> None:
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

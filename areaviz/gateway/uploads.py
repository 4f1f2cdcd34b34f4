"""Uploads within the quotas of a session, a user, an address and the whole app.

Bytes count when they arrive. A user who announces files but sends nothing therefore takes no room
from other users.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from areaviz.gateway.http import Head, answer_text
from areaviz.gateway.streamlit_parts import count_uploaded_bytes, is_active_session
from areaviz.shares.counters import Shares
from areaviz.shares.limits import (
    UPLOADED_MEGABYTES,
    UPLOADED_MEGABYTES_ALL,
    UPLOADS_AT_ONCE,
    Scope,
)
from areaviz.shares.visitors import OverLimit, Visitor, get_limit_of_scope

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as AsgiScope

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

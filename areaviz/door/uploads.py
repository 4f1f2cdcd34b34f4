"""Uploads: only for a session that is there, and bounded in bytes, for one session and for all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from areaviz.door.answers import answer_text
from areaviz.door.head import Head
from areaviz.door.streamlit_parts import is_active_session, uploaded_bytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/_stcore/upload_file/"
SESSION_BYTES, ALL_BYTES = 224 * 2**20, 512 * 2**20
"""A set of examples may have 150 MB, and a reader may have a picture and a trace besides."""
NO_SESSION = "This page is not connected to the app any more; load it again, then choose the file."
NO_LENGTH = "An upload has to say how long it is, in Content-Length."
OWN_FULL = (
    f"Your files here would have more than {SESSION_BYTES // 2**20} MB together; remove some, then"
    " add others."
)
ALL_FULL = "The app holds as many uploaded files as it can; try again in a few minutes."


class Uploads:
    """Lets uploads through to `app` while they stay within their bounds."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._coming: Counter[str] = Counter()

    async def __call__(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand an upload on, or say why not; what is on its way counts as if it were there."""
        if head.method != "PUT":
            return await self._app(scope, receive, send)
        session, length = head.path.removeprefix(PATH).partition("/")[0], head.one("content-length")
        if not is_active_session(session):
            return await answer_text(send, 403, NO_SESSION)
        if not length.isdigit() or "transfer-encoding" in head.headers:
            return await answer_text(send, 411, NO_LENGTH)
        if refused := self._refusal(session, int(length)):
            return await answer_text(send, 413, refused)
        self._coming[session] += int(length)
        try:
            return await self._app(scope, receive, send)
        finally:
            self._coming[session] -= int(length)
            self._coming += Counter()  # drops who has nothing on its way

    def _refusal(self, session: str, length: int) -> str:
        held = Counter(uploaded_bytes()) + self._coming
        if held[session] + length > SESSION_BYTES:
            return OWN_FULL
        return ALL_FULL if held.total() + length > ALL_BYTES else ""

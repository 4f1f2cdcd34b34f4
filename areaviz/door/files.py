"""Files of readers: uploads within bounds, and made files for the reader whose page names them."""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from areaviz.door.http import Head, answer_text
from areaviz.door.streamlit_parts import is_active_session, uploaded_bytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

UPLOADS, MEDIA = "/_stcore/upload_file/", "/media/"

# A set of examples may have 150 MB, and a reader may have a picture and a trace besides.
SESSION_BYTES, ALL_BYTES = 224 * 2**20, 512 * 2**20
NO_SESSION = "This page is not connected to the app any more; load it again, then choose the file."
NO_LENGTH = "An upload has to say how long it is, in Content-Length."
OWN_FULL = (
    f"Your files here would have more than {SESSION_BYTES // 2**20} MB together; remove some, then"
    " add others."
)
ALL_FULL = "The app holds as many uploaded files as it can; try again in a few minutes."

# Addresses of made files that one reader has at once.
MAX_ADDRESSES = 4096
_ADDRESS = re.compile(rb"/media/([0-9A-Za-z._-]+)")


class Uploads:
    """Lets uploads of a connected session through to `app` within their bounds."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._arriving: Counter[str] = Counter()

    async def __call__(self, head: Head, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an upload on, or say why not; what is arriving counts as if it were there."""
        if head.method != "PUT":
            return await self._app(scope, receive, send)
        session, length = head.path.removeprefix(UPLOADS).split("/")[0], head.one("content-length")
        if not is_active_session(session):
            return await answer_text(send, 403, NO_SESSION)
        # Chunks have no length in advance, so nothing here could bound them.
        if not length.isdigit() or "transfer-encoding" in head.headers:
            return await answer_text(send, 411, NO_LENGTH)
        size = int(length)
        held = Counter(uploaded_bytes()) + self._arriving
        if held[session] + size > SESSION_BYTES:
            return await answer_text(send, 413, OWN_FULL)
        if held.total() + size > ALL_BYTES:
            return await answer_text(send, 413, ALL_FULL)
        self._arriving[session] += size
        try:
            return await self._app(scope, receive, send)
        finally:
            self._arriving[session] -= size
            self._arriving += Counter()  # drops sessions with nothing arriving


@dataclass(slots=True)
class _Reader:
    open_sockets: int = 0
    # When the last socket was closed.
    left: float = 0.0
    # The names in messages to the reader, the oldest first.
    files: OrderedDict[str, None] = field(default_factory=OrderedDict)


class Media:
    """The files that each reader's page was sent the addresses of.

    Streamlit answers these addresses for everybody, and for a while after their session has ended.
    Here they end with the reader's last socket, or with the session that is kept for a reader who
    may come back. Readers are named by the id in their cookie; a socket without one, "", is no
    browser's and has no files here.

    Args:
        back_seconds: how long a session is kept for a reader who may come back.
    """

    def __init__(self, back_seconds: float) -> None:
        self._back_seconds = back_seconds
        self._readers: dict[str, _Reader] = {}

    def enter(self, reader: str) -> None:
        """Note a socket that the reader opened."""
        self._forget()
        if reader:
            self._readers.setdefault(reader, _Reader()).open_sockets += 1

    def leave(self, reader: str) -> None:
        """Note a socket that the reader closed."""
        if known := self._readers.get(reader):
            known.open_sockets -= 1
            known.left = time.monotonic()

    def note(self, reader: str, message: bytes) -> None:
        """Note the files that a message to the reader names."""
        if not reader or b"/media/" not in message:
            return
        files = self._readers[reader].files
        for found in _ADDRESS.findall(message):
            name = found.decode()
            files[name] = None
            files.move_to_end(name)
        while len(files) > MAX_ADDRESSES:
            files.popitem(last=False)

    def may_see(self, reader: str, path: str) -> bool:
        """Whether the reader was sent this address, and is here."""
        self._forget()
        known = self._readers.get(reader)
        return known is not None and path.removeprefix(MEDIA) in known.files

    def _forget(self) -> None:
        until = time.monotonic() - self._back_seconds
        for name, reader in list(self._readers.items()):
            if not reader.open_sockets and reader.left < until:
                del self._readers[name]

"""Addresses of pictures and files that the app made: each is answered only for the reader whose
page was told of it.

Streamlit answers them for everybody, and for a while after their session has ended. Here they end
with the reader's last socket, but for the time in which Streamlit keeps the session of a reader who
may come back.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass, field

PATH = "/media/"
MOST = 4096
"""Addresses that one reader has at once."""
_ADDRESS = re.compile(rb"/media/([0-9A-Za-z._-]+)")


@dataclass(slots=True)
class _Reader:
    """sockets: that are open. left: when the last one was closed. files: the names told, in their
    order.
    """

    sockets: int = 0
    left: float = 0.0
    files: OrderedDict[str, None] = field(default_factory=OrderedDict)


class Media:
    """Which files each reader was told of.

    Readers are named by the id in their cookie. A socket that brought none, "", has no files here:
    it is no browser's.
    back_seconds: how long a session is kept for a reader who may come back.
    """

    def __init__(self, back_seconds: float) -> None:
        self._back_seconds = back_seconds
        self._readers: dict[str, _Reader] = {}

    def come(self, reader: str) -> None:
        """A socket of the reader was opened."""
        self._forget(time.monotonic())
        if reader:
            self._readers.setdefault(reader, _Reader()).sockets += 1

    def leave(self, reader: str) -> None:
        """A socket of the reader was closed."""
        if known := self._readers.get(reader):
            known.sockets, known.left = known.sockets - 1, time.monotonic()

    def tell(self, reader: str, message: bytes) -> None:
        """Note the files that a message to the reader names."""
        if not reader or b"/media/" not in message:
            return
        files = self._readers[reader].files
        for found in _ADDRESS.findall(message):
            name = found.decode()
            files[name] = None
            files.move_to_end(name)
        while len(files) > MOST:
            files.popitem(last=False)

    def may_see(self, reader: str, path: str) -> bool:
        """Whether the reader was told of this address, and is here."""
        self._forget(time.monotonic())
        known = self._readers.get(reader)
        return known is not None and path.removeprefix(PATH) in known.files

    def _forget(self, now: float) -> None:
        until = now - self._back_seconds
        gone = [name for name, one in self._readers.items() if not one.sockets and one.left < until]
        for name in gone:
            del self._readers[name]

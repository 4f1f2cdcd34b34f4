"""Access to files that the app creates, for the user whose page received their URLs."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

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

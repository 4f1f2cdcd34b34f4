"""The head of a request or of a socket's handshake, as the checks of the door read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(.+)")
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Head:
    """method: "GET", or "" for a socket. query: without the question mark. headers: by lower-case
    name, each given.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, tuple[str, ...]]
    client: str
    secure: bool

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """The head of an ASGI scope of type "http" or "websocket"."""
        headers: dict[str, tuple[str, ...]] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1").lower()
            headers[name] = (*headers.get(name, ()), value.decode("latin-1"))
        client, query = scope.get("client"), scope.get("query_string", b"").decode("latin-1")
        secure = scope.get("scheme") in ("https", "wss")
        return cls(
            scope.get("method", ""),
            scope["path"],
            query,
            headers,
            client[0] if client else "",
            secure,
        )

    @property
    def is_socket(self) -> bool:
        """Whether a WebSocket is asked for."""
        return not self.method

    def one(self, name: str) -> str:
        """A header that is given at most once; "" where it is absent or given twice."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else ""

    def cookie(self, name: str) -> str:
        """The value of a cookie; "" where it is absent. The last counts, as in the app behind the
        door.
        """
        found = ""
        for header in self.headers.get("cookie", ()):
            for part in header.split(";"):
                given, _, value = part.partition("=")
                if given.strip() == name:
                    found = value.strip()
        return found

    def is_for(self, names: frozenset[str]) -> bool:
        """Whether the request means this server by one of its names, and comes from no other site's
        page.

        Compared as text alone: nothing is looked up, and nobody is asked.
        """
        hosts, origins = self.headers.get("host", ()), self.headers.get("origin", ())
        if len(hosts) != 1 or len(origins) > 1:
            return False
        name, port = name_and_port(hosts[0])
        if not name or name not in names:
            return False
        return not origins or _same_site(origins[0], name, port)


def name_and_port(host: str) -> tuple[str, str]:
    """The two parts of a Host header, in lower case and without brackets or a last dot; "" for what
    is missing.
    """
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return "", ""
    return found[1].strip("[]").rstrip("."), found[2] or ""


def _same_site(origin: str, name: str, port: str) -> bool:
    """Whether a page's origin has the name and the port of the request's Host."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return False
    usual = _PORTS[origin.lower().partition(":")[0]]
    its_name, its_port = name_and_port(found[1])
    return its_name == name and (its_port or usual) == (port or usual)

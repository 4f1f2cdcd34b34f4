"""HTTP for the gateway: the heads of requests and handshakes, and the gateway's own responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

Headers = Iterable[tuple[str, str]]
NOTHING_LOADED = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://(.+)")
# A path on this server. A path with a second slash would be the URL of another server.
_PLACE = re.compile(r"/(?![/\\])[\x21-\x7e]*")
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Head:
    """The parts of a request or a handshake that the gateway checks.

    Args:
        method: the method, such as "GET", or "" for a WebSocket.
        path: the path without the query.
        query: the query without its question mark.
        headers: all values of every header, by its name in lower case.
        client: the address of the client, "" if it is unknown.
        secure: whether the connection uses TLS.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, tuple[str, ...]]
    client: str
    secure: bool

    @classmethod
    def of(cls, scope: Scope) -> Head:
        """Read the head of an ASGI scope of type "http" or "websocket"."""
        headers: dict[str, tuple[str, ...]] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1").lower()
            headers[name] = (*headers.get(name, ()), value.decode("latin-1"))
        return cls(
            method=scope.get("method", ""),
            path=scope["path"],
            query=scope.get("query_string", b"").decode("latin-1"),
            headers=headers,
            client=(scope.get("client") or ("",))[0],
            secure=scope.get("scheme") in ("https", "wss"),
        )

    def one(self, name: str) -> str:
        """Return the value of a header, or "" if it is absent or given twice."""
        values = self.headers.get(name, ())
        return values[0] if len(values) == 1 else ""

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, or "" if it is absent.

        If a cookie is given twice, the last one counts, as in Streamlit.
        """
        found = ""
        for header in self.headers.get("cookie", ()):
            for part in header.split(";"):
                given, _, value = part.partition("=")
                if given.strip() == name:
                    found = value.strip()
        return found

    def is_for(self, names: frozenset[str]) -> bool:
        """Return whether the request names this server and does not come from another website.

        Names are compared as text, so no name server is queried.
        """
        hosts, origins = self.headers.get("host", ()), self.headers.get("origin", ())
        # The app might read the second of two headers with equal names.
        if len(hosts) != 1 or len(origins) > 1:
            return False
        name, port = name_and_port(hosts[0])
        if not name or name not in names:
            return False
        return not origins or _is_same_site(origins[0], name, port)


def name_and_port(host: str) -> tuple[str, str]:
    """Return name and port of a Host header, "" for a missing part.

    The name is in lower case, without brackets and without a final dot.
    """
    found = _HOST.fullmatch(host.lower())
    if found is None:
        return "", ""
    return found[1].strip("[]").rstrip("."), found[2] or ""


def _is_same_site(origin: str, name: str, port: str) -> bool:
    """Return whether a page's origin has the name and the port of the request's Host header."""
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return False
    # Browsers omit the default port in both headers.
    default = _PORTS[found[1]]
    its_name, its_port = name_and_port(found[2])
    return its_name == name and (its_port or default) == (port or default)


async def answer_text(send: Send, status: int, sentence: str, headers: Headers = ()) -> None:
    """Answer with plain text."""
    policy = ("content-security-policy", NOTHING_LOADED)
    await _answer(send, status, sentence, "text/plain", (policy, *headers))


async def answer_page(send: Send, status: int, html: str, headers: Headers) -> None:
    """Answer with a page of the gateway. Its security policy is among the headers."""
    await _answer(send, status, html, "text/html", headers)


async def redirect(send: Send, address: str, headers: Headers = ()) -> None:
    """Redirect the browser to a path of this server, or to "/" if the URL is not such a path."""
    address = address if _PLACE.fullmatch(address) else "/"
    await _answer(send, 303, "", "text/plain", (("location", address), *headers))


async def refuse_socket(receive: Receive, send: Send) -> None:
    """Refuse a handshake. The web server then answers with status 403."""
    await receive()
    await send({"type": "websocket.close", "code": 1008})


async def _answer(send: Send, status: int, text: str, kind: str, headers: Headers) -> None:
    body = text.encode("utf-8")
    own = (("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body))))
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in (*own, *_ALWAYS, *headers)]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})

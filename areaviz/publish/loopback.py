"""Servers for browsers of this machine alone: of a page, and of layers that a notebook asks for."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any
from urllib.parse import unquote

from areaviz.publish.content import payload, places
from areaviz.publish.options import PageOptions
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace

HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class Loopback(ThreadingHTTPServer):
    """Answers on a loopback address that cannot be guessed.

    `serve_forever` runs it, leaving the `with` block closes it. A request for another path, or
    under another host's name (a page elsewhere whose name server led a browser here), is answered
    by 404.

    Args:
        port: 0 takes a free one.

    Raises:
        InputError: the port is taken or not allowed.
    """

    daemon_threads = True
    kind = "text/html"
    more: Mapping[str, str] = {}

    def __init__(self, port: int = 0) -> None:
        self.path = f"/{token_urlsafe(16)}"
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            reason = f"cannot be used ({error.strerror or error})"
            if error.errno == errno.EADDRINUSE:
                reason = "is taken"
            raise InputError(
                f"The port {port} {reason}; choose another, or 0 for a free one."
            ) from error

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{HOST}:{self.server_port}{self.path}"

    def answer(self, rest: str) -> bytes | None:
        """What lies at a path behind the secret one; None where there is nothing."""
        raise NotImplementedError

    def found(self, host: str, path: str) -> bytes | None:
        """The answer to a request that knows the secret path and means this machine."""
        own = (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")
        secret, rest = path[: len(self.path)], path[len(self.path) :]
        # In constant time, so that the path cannot be found letter by letter.
        if host in own and compare_digest(secret.encode(), self.path.encode()):
            return self.answer(rest)
        return None


class PageServer(Loopback):
    """Serves a page.

    Args:
        html: the page.
        port: see `Loopback`.
    """

    def __init__(self, html: str, port: int = 0) -> None:
        self.content = html.encode("utf-8", "replace")
        super().__init__(port)

    def answer(self, rest: str) -> bytes | None:
        return None if rest else self.content


class LayerServer(Loopback):
    """Serves layers of a trace to the pages of a notebook, as SITE/LAYER, counted from 0.

    Args:
        trace: whose layers they are.
        options: of the page.
    """

    kind = "text/plain"
    # The origin of a frame that may run scripts and do nothing else.
    more = {"Access-Control-Allow-Origin": "null"}

    def __init__(self, trace: Trace, options: PageOptions) -> None:
        self._trace, self._options = trace, options
        self._places = {place.site: place for place in places(trace, options)}
        super().__init__()

    def answer(self, rest: str) -> bytes | None:
        site, _, number = rest.removeprefix("/").rpartition("/")
        place = self._places.get(unquote(site))
        if place is None or not number.isdecimal() or int(number) not in place.layers:
            return None
        return payload(self._trace, place, int(number), self._options).data.encode()


class _Handler(BaseHTTPRequestHandler):
    server: Loopback

    def do_GET(self) -> None:
        """Answer with what was asked for, or with 404."""
        content = self.server.found(self.headers.get("Host", ""), self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", f"{self.server.kind}; charset=utf-8")
        for name, value in {**_HEADERS, **self.server.more}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the path is a secret, and every request a line too many."""

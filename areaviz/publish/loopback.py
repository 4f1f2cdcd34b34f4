"""A server that shows one page to browsers on this machine only, for `areaviz show`."""

from __future__ import annotations

import errno
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any

from areaviz.trace.errors import InputError

HOST = "127.0.0.1"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class PageServer(ThreadingHTTPServer):
    """A server of one page at a loopback URL that cannot be guessed.

    `serve_forever` runs the server, and leaving its `with` block closes it. It answers a request
    for another path, or with another Host header, with 404. A website could otherwise read the page
    through a DNS name of its own that leads to this machine.

    Args:
        html: the page.
        port: the port, or 0 for a free one.

    Raises:
        InputError: the port is in use or not allowed.
    """

    daemon_threads = True

    def __init__(self, html: str, port: int = 0) -> None:
        self.content = html.encode("utf-8", "replace")
        self.path = f"/{token_urlsafe(16)}"
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            reason = f"cannot be used ({error.strerror or error})"
            if error.errno == errno.EADDRINUSE:
                reason = "is taken"
            raise InputError(
                f"The port {port} {reason}. Choose another port, or 0 for a free one."
            ) from error

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_port}{self.path}"

    def found(self, host: str, path: str) -> bytes | None:
        """Return the page, or None if the path or Host header of a request is wrong."""
        own = (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")
        # Compare in constant time, so that the path cannot be guessed character by character.
        is_known = compare_digest(path.encode(), self.path.encode())
        return self.content if host in own and is_known else None


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Send the page, or 404."""
        content = self.server.found(self.headers.get("Host", ""), self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log, because it would contain the secret path."""

"""One page served to the browsers of this machine, under an address that cannot be guessed."""

from __future__ import annotations

import errno
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any

from areaviz.trace.errors import InputError

HOST = "127.0.0.1"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


class PageServer(ThreadingHTTPServer):
    """Serves `html` on `url`, a loopback address; `serve_forever` runs it, leaving the `with` block
    closes it.

    port: 0 takes a free one. A request for another path, or under another host's name (a page
    elsewhere that was led here by its name server), is answered by 404. Raises InputError when the
    port is taken or not allowed.
    """

    daemon_threads = True

    def __init__(self, html: str, port: int = 0) -> None:
        self.content = html.encode("utf-8", "replace")
        self.path = f"/{token_urlsafe(16)}"
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            reason = (
                "is taken"
                if error.errno == errno.EADDRINUSE
                else f"cannot be used ({error.strerror or error})"
            )
            raise InputError(
                f"The port {port} {reason}; choose another, or 0 for a free one."
            ) from error

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}{self.path}"

    def knows(self, host: str, path: str) -> bool:
        """Whether a request is for the page and means this machine."""
        own = (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")
        return host in own and compare_digest(path.encode(), self.path.encode())


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Answer with the page, or with 404."""
        if not self.server.knows(self.headers.get("Host", ""), self.path):
            self.send_error(404)
            return
        self.send_response(200)
        for name, value in {**_HEADERS, "Content-Length": str(len(self.server.content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the path is a secret, and every request a line too many."""

"""One page shown at once: in a notebook, or served to the browsers of this machine."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Any

from areaviz.drawing.markup import element
from areaviz.publish.options import PageOptions
from areaviz.publish.page import page
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

HEIGHTS = (200, 4000)
"""Least and most pixels of a notebook's frame."""
HOST = "127.0.0.1"
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A page that a notebook shows where the last line of a cell gives it.

    Args:
        height: of its frame, in pixels.
    """

    html: str
    height: int

    def __repr__(self) -> str:
        return (
            f"<areaviz page of {len(self.html) / 2**20:.1f} MiB: a notebook shows it; "
            "areaviz.export writes it as a file>"
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which can run its scripts and reach nothing else."""
        style = f"width: 100%; height: {self.height}px; border: 0"
        return element(
            "iframe", srcdoc=self.html, sandbox="allow-scripts", style=style, title="areaviz"
        )


def show(
    trace: Trace, focus: Focus | None = None, options: PageOptions | None = None, height: int = 900
) -> Shown:
    """The interactive view of a trace, for the last line of a notebook's cell.

    Args:
        focus: where it opens.
        height: pixels, 200 to 4,000; what is longer scrolls.

    Raises:
        InputError: the height is out of range, or as `page` says.
    """
    low, high = HEIGHTS
    if not low <= height <= high:
        raise InputError(
            f"The height is {height:,} pixels but must lie between {low} and {high:,}; choose"
            " another."
        )
    return Shown(page(trace, focus, options), height)


class PageServer(ThreadingHTTPServer):
    """Serves `html` on `url`, a loopback address that cannot be guessed.

    `serve_forever` runs it, leaving the `with` block closes it. A request for another path, or
    under another host's name (a page elsewhere whose name server led a browser here), is answered
    by 404.

    Args:
        port: 0 takes a free one.

    Raises:
        InputError: the port is taken or not allowed.
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
                f"The port {port} {reason}; choose another, or 0 for a free one."
            ) from error

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}{self.path}"

    def knows(self, host: str, path: str) -> bool:
        """Whether a request is for the page and means this machine."""
        own = (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")
        # In constant time, so that the path cannot be found letter by letter.
        return host in own and compare_digest(path.encode(), self.path.encode())


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Answer with the page, or with 404."""
        if not self.server.knows(self.headers.get("Host", ""), self.path):
            self.send_error(404)
            return
        self.send_response(200)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the path is a secret, and every request a line too many."""

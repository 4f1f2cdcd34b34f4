"""A small server of models: `Api` behind Python's own HTTP server, with faults on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from areaviz.backend.server import Api, Reply


class Server(ThreadingHTTPServer):
    """A server that passes requests to `api`, unless `faults` has a fault for the next request.

    A fault is a reply to send, or "drop" (close without an answer), "cut" (close half-way) or
    "hang".
    `asked` has the heads of all requests, (method, path, headers).
    """

    daemon_threads = True

    def __init__(self, api: Api) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        self.faults: list[Reply | str] = []
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.released = threading.Event()
        """Set when the server closes.

        From then on nothing is answered, even on open connections.
        """

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        fault = self.server.faults.pop(0) if self.server.faults else None
        fault = "drop" if self.server.released.is_set() else fault
        if fault == "hang":
            self.server.released.wait()
        if fault in ("hang", "drop"):
            self.close_connection = True
            return
        authorization = self.headers.get("Authorization", "")
        reply = (
            fault
            if isinstance(fault, Reply)
            else self.server.api.answer(self.command, self.path, authorization, body)
        )
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.content)))
        if 300 <= reply.status < 400:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(
            reply.content[: len(reply.content) // 2] if fault == "cut" else reply.content
        )
        self.close_connection = fault == "cut"

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _answer

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def serving(api: Api) -> Iterator[Server]:
    """Run a server, and close it afterwards."""
    server = Server(api)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()

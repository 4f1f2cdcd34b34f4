"""Requests to a served app, sent as a browser or as an attacker sends them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from areaviz.gateway.serving import send_command
from areaviz.shares import Limit
from tests.faults.client import Session
from tests.faults.served import Served

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-that-only-friends-have"
PAGES = tuple(path.stem for path in sorted((ROOT / "pages").glob("*.py")))


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    headers: dict[str, str]
    text: str


def port_of(app: Served) -> int:
    """Return the port that an app listens at."""
    return int(app.url.rpartition(":")[2])


def request(app: Served, method: str, path: str, body: str = "", **headers: str) -> Answer:
    """Return one answer; write the names of headers with underscores."""
    connection = HTTPConnection("127.0.0.1", port_of(app))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, named)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)


def sign_in(app: Served, token: str = TOKEN, address: str = "203.0.113.1") -> Answer:
    """Return the answer to a token in the form, from a client of the proxy."""
    body = urlencode({"token": token, "next": "/"})
    return request(app, "POST", "/sign-in", body, X_Forwarded_For=address)


def cookie_of(answer: Answer) -> str:
    """Return the cookie that an answer sets, as a browser sends it back."""
    return answer.headers["set-cookie"].partition(";")[0]


def handshake(app: Served, origin: str | None = None, host: str = "", cookie: str = "") -> int:
    """Return the status of a handshake for the app's WebSocket."""
    headers = {name: value for name, value in (("Host", host), ("Cookie", cookie)) if value}
    try:
        with connect(
            app.url.replace("http", "ws", 1) + "/_stcore/stream",
            origin=Origin(origin) if origin else None,
            subprotocols=[Subprotocol("streamlit")],
            additional_headers=headers,
            open_timeout=None,
        ):
            return 101
    except InvalidStatus as refused:
        return int(refused.response.status_code)


@contextmanager
def visiting(
    app: Served, page: str, query: str = "", cookie: str = ""
) -> Iterator[tuple[Session, str, list[ForwardMsg]]]:
    """Open a page in a tab, and yield the tab, its session's id and the page's messages."""
    with Session.open(app.url, cookie) as visitor:
        messages = list(visitor.visit(page, query).messages)
        ids = [
            one.new_session.initialize.session_id for one in messages if one.HasField("new_session")
        ]
        yield visitor, ids[0], messages


def wait_until(is_met: Callable[[], bool]) -> None:
    """Wait until a condition is met. The limit of pytest ends a test that waits in vain."""
    while not is_met():
        time.sleep(0.05)


def move_clock(app: Served, seconds: float) -> None:
    """Move the clock of the small server on."""
    send_command(port_of(app), "move", str(seconds))


@contextmanager
def limited(app: Served, limit: Limit, value: float) -> Iterator[None]:
    """Set a limit of the small server for the connections that are made in a block."""
    before = send_command(port_of(app), "set", limit.setting, str(value))
    try:
        yield
    finally:
        send_command(port_of(app), "set", limit.setting, before)


def connected(app: Served) -> socket.socket:
    """Yield a plain connection to an app."""
    return socket.create_connection(("127.0.0.1", port_of(app)))


def status(app: Served) -> dict[str, Any]:
    """Return the figures that the app's operator can get."""
    found: dict[str, Any] = send_command(port_of(app), "status")
    return found


def put(app: Served, session: str, size: int, file: str = "a", **headers: str) -> int:
    """Upload some bytes, and return the status.

    A body that is announced as chunked is not sent.

    Args:
        app: the server.
        session: the id of the page's session.
        size: of the body.
        file: the id of the file.
        headers: headers to add or to replace; the value "" leaves a header out.
    """
    token = cookie_of(request(app, "GET", "/_stcore/health"))
    if "Cookie" in headers:
        headers["Cookie"] += f"; {token}"
    head = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n'
    body = head + b"\0" * (size - len(head) - 9) + b"\r\n--b--\r\n"
    line = HTTPConnection("127.0.0.1", port_of(app))
    line.putrequest("PUT", f"/_stcore/upload_file/{session}/{file}")
    given = {
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": str(len(body)),
        "Cookie": token,
    }
    for name, value in {**given, "X-Xsrftoken": token.partition("=")[2], **headers}.items():
        if value:
            line.putheader(name, value)
    line.endheaders()
    if "Transfer-Encoding" not in headers:
        line.send(body)
    found = line.getresponse().status
    line.close()
    return found

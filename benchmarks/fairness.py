"""Measure how one attacker affects other readers: huge messages, and uploads without content.

    python -m benchmarks.fairness [--write]

The app runs as users start it, behind a proxy that reports the addresses of clients. The attacker
has one address, and one cookie, a new cookie for each connection, or no cookie. Meanwhile a reader
at another address visits a page and uploads a file.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from areaviz.backend.access import make_reader_id, name_reader_cookie
from benchmarks.report import command, markdown, processor, publish
from tests.faults.served import Served, served
from tests.gateway.client import port_of, put

COOKIES = ("one", "fresh", "none")
WIDGETS, SOCKETS, IDLE_UPLOADS, UPLOAD_BYTES = 1_700_000, 3, 11, 50_000_000
ATTACKER, READER = "203.0.113.66", "198.51.100.1"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of huge messages for the app.

    Args:
        megabytes: Peak of the app's memory, above its memory before the messages.
        processor_seconds: Processor time of the app's process.
        refused_seconds: Seconds until the page of the last message showed that it was refused.
    """

    megabytes: float
    processor_seconds: float
    refused_seconds: float


@dataclass(frozen=True, slots=True)
class Tab:
    """An open page: its socket and the id of its session."""

    socket: ClientConnection
    session: str


def headers(app: Served, cookies: str, address: str) -> dict[str, str]:
    """Return the headers of a connection by an attacker or a reader.

    Args:
        app: The server.
        cookies: "none", "fresh" for a new cookie, or the id of a reader.
        address: The client's address, as the proxy reports it.
    """
    reader = make_reader_id() if cookies == "fresh" else cookies
    cookie = {} if cookies == "none" else {"Cookie": f"{name_reader_cookie(port_of(app))}={reader}"}
    return {"X-Forwarded-For": address} | cookie


@contextmanager
def open_tab(app: Served, given: dict[str, str]) -> Iterator[Tab]:
    """Open a page and wait until it is drawn."""
    address = app.url.replace("http", "ws", 1) + "/_stcore/stream"
    protocols = [Subprotocol("streamlit")]
    with connect(
        address,
        origin=Origin(app.url),
        subprotocols=protocols,
        additional_headers=given,
        max_size=None,
    ) as socket:
        message = BackMsg()
        message.rerun_script.page_name = "models"
        socket.send(message.SerializeToString())
        session = ""
        while True:
            found = ForwardMsg.FromString(socket.recv(120, decode=False))
            if found.HasField("new_session"):
                session = found.new_session.initialize.session_id
            if found.WhichOneof("type") == "script_finished" and session:
                break
        yield Tab(socket, session)


def huge_message(widgets: int = WIDGETS) -> bytes:
    """Return a message with `widgets` tiny widget states, 13 bytes each."""
    message = BackMsg()
    message.rerun_script.widget_states.widgets.add(id="0000000").trigger_value = True
    states = message.rerun_script.widget_states.SerializeToString() * widgets
    return _field(11, _field(2, states))


def _field(number: int, content: bytes) -> bytes:
    """Return the bytes of a message with one field, which is itself a message."""
    size, length = len(content), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes([number << 3 | 2]) + bytes(length) + content


def message_cost(app: Served, cookies: str, content: bytes) -> Cost:
    """Send a huge message from several sockets, and measure what they cost the app."""
    own = make_reader_id() if cookies == "one" else cookies
    with ExitStack() as stack:
        tabs = []
        for _ in range(SOCKETS):
            given = headers(app, own, ATTACKER)
            tabs.append(stack.enter_context(open_tab(app, given)))
        memory, spent = app.memory(), app.processor_seconds()
        app.forget_peak()
        began = time.monotonic()
        for tab in tabs:
            tab.socket.send(content)
        for tab in tabs:
            wait_for_refusal(tab)
        seconds = time.monotonic() - began
        return Cost(app.peak() - memory, app.processor_seconds() - spent, seconds)


def wait_for_refusal(tab: Tab) -> None:
    """Wait until a page shows that its message was refused."""
    while True:
        message = ForwardMsg.FromString(tab.socket.recv(120, decode=False))
        if message.HasField("delta") and message.delta.new_element.HasField("toast"):
            return


def upload_wait(app: Served, cookies: str) -> float:
    """Announce uploads without sending them, and return the seconds of another reader's upload.

    Raises:
        RuntimeError: The other reader's upload was not accepted.
    """
    own = make_reader_id() if cookies == "one" else cookies
    with ExitStack() as stack:
        for number in range(IDLE_UPLOADS):
            given = headers(app, own, ATTACKER)
            tab = stack.enter_context(open_tab(app, given))
            stack.callback(announce(app, tab.session, str(number), given).close)
        given = headers(app, "fresh", READER)
        tab = stack.enter_context(open_tab(app, given))
        began = time.monotonic()
        status = put(app, tab.session, 1_000_000, **given)
        if status != 204:
            raise RuntimeError(f"The upload of another reader was answered with {status}.")
        return time.monotonic() - began


def announce(app: Served, session: str, name: str, given: dict[str, str]) -> HTTPConnection:
    """Send the headers of an upload without its body."""
    line = HTTPConnection("127.0.0.1", port_of(app), timeout=60)
    line.putrequest("PUT", f"/_stcore/upload_file/{session}/{name}")
    for header, value in {**given, "Content-Length": str(UPLOAD_BYTES)}.items():
        line.putheader(header, value)
    line.endheaders()
    return line


def measure() -> list[list[str]]:
    """Return a row of figures for each way in which the attacker uses cookies."""
    content, rows = huge_message(), []
    with tempfile.TemporaryDirectory() as folder:
        options = ["--proxy", "127.0.0.1"]
        settings = {"OMP_NUM_THREADS": "1"}
        with served(Path(folder) / "log", settings, options=options) as app:
            for cookies in COOKIES:
                cost, wait = message_cost(app, cookies, content), upload_wait(app, cookies)
                rows.append(
                    [
                        cookies,
                        f"{cost.megabytes:.1f} MB",
                        f"{1000 * cost.processor_seconds / SOCKETS:.0f} ms",
                        f"{1000 * cost.refused_seconds:.0f} ms",
                        f"{wait:.2f} s",
                    ]
                )
    return rows


def main() -> None:
    """Print the table, or write it into the document."""
    options = command("Measure how one attacker affects other readers.").parse_args()
    size = len(huge_message()) / 1e6
    columns = [
        "attacker's cookies",
        f"{SOCKETS} messages of {size:.0f} MB: peak memory",
        "processor time of each",
        "until all are refused",
        f"another reader's upload beside {IDLE_UPLOADS} idle ones",
    ]
    about = f"Measured on {processor()}; the client ran on the same machine."
    publish("fairness", markdown(about, columns, measure()), options.write)


if __name__ == "__main__":
    main()

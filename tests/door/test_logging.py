"""What the app logs and whom it contacts: one line a second for a cause, no reader's words."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from areaviz.door.serving import OncePerSecond
from tests.door.test_limits import connected
from tests.door.test_serving import FOREIGN_ORIGINS, handshake
from tests.faults.client import Session
from tests.faults.served import Served, served


@contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that says nothing: its port, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                line.settimeout(1)
                asked.append(line.recv(200))

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1], asked


def test_a_foreign_page_makes_it_ask_nobody_and_holds_nobody_up(tmp_path: Path) -> None:
    with listener() as (port, asked):
        proxy = f"http://127.0.0.1:{port}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        settings = {
            "OMP_NUM_THREADS": "1",
            "no_proxy": "",
            "NO_PROXY": "",
            **dict.fromkeys(names, proxy),
        }
        with served(tmp_path / "log", settings) as app:
            began = time.monotonic()
            assert {handshake(app, origin) for origin in FOREIGN_ORIGINS * 4} == {403}
            assert time.monotonic() - began < 4, (
                "each took 2 s where Streamlit looked up its own address"
            )
            with Session.open(app.url) as visitor:
                visitor.visit("models")
        assert asked == []


def floods(app: Served) -> None:
    """A second of requests that are none, from many connections."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        with connected(app) as line:
            line.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
            line.recv(1000)


def test_nobody_fills_the_log(tmp_path: Path) -> None:
    with served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}) as app:
        before = app.log.read_text().count("\n")
        floods(app)
        lines = app.log.read_text().splitlines()[before:]
        assert 1 <= len(lines) <= 4 and all("Invalid HTTP request" in line for line in lines)


def test_an_open_page_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    with (
        served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}) as app,
        Session.open(app.url) as visitor,
    ):
        visitor.visit("models")
        began = time.monotonic()
        app.process.send_signal(signal.SIGTERM)
        app.process.wait(20)
        assert time.monotonic() - began < 10


class Lines(logging.Handler):
    """Keeps what passes."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.addFilter(OncePerSecond())

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def lines() -> Iterator[list[logging.LogRecord]]:
    handler, log = Lines(), logging.getLogger("areaviz.test")
    log.addHandler(handler)
    yield handler.records
    log.removeHandler(handler)


def test_one_cause_has_one_line_a_second(
    lines: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    log = logging.getLogger("areaviz.test")
    for number in range(50):
        log.warning("number %d", number)
        log.warning("another %d", number)
    assert [one.getMessage() for one in lines] == ["number 0", "another 0"]
    now = 101.0
    log.warning("number %d", 50)
    log.error("number %d", 51)
    assert [one.getMessage() for one in lines][2:] == [
        "number 50 (49 more like this were not written)",
        "number 51",
    ]


def test_errors_of_other_kinds_are_other_causes(lines: list[logging.LogRecord]) -> None:
    log = logging.getLogger("areaviz.test")
    for error in (ValueError("a"), ValueError("b"), OSError("c")):
        log.error("While it ran", exc_info=error)
    assert len(lines) == 2


def test_many_causes_take_no_memory_without_bound() -> None:
    once = OncePerSecond()
    for number in range(5000):
        once.filter(logging.LogRecord("a", 30, "", 0, f"text {number}", None, None))
    assert len(once._last) <= 1024

"""The app logs one line per second and cause, and contacts no other machine."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from areaviz.gateway.serving import LOG_SECONDS, OncePerSecond
from tests.faults.client import Session
from tests.faults.served import Served
from tests.gateway.client import connected, handshake, move_clock
from tests.gateway.listener import Listener
from tests.gateway.test_serving import FOREIGN_ORIGINS


def test_foreign_page_causes_no_connections(open_app: Served, contacted: Listener) -> None:
    """Check that a foreign origin causes no connection.

    Streamlit looks up its own public address, which took 2 s for each origin.
    """
    assert {handshake(open_app, origin) for origin in FOREIGN_ORIGINS * 4} == {403}
    with Session.open(open_app.url) as visitor:
        visitor.visit("models")
    assert contacted.asked == []


def test_log_has_one_line_per_second(open_app: Served) -> None:
    # Otherwise an equal line of another test could suppress all lines.
    move_clock(open_app, LOG_SECONDS)
    before = open_app.log.read_text().count("\n")
    began = time.monotonic()
    for _ in range(100):
        with connected(open_app) as line:
            line.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
            line.recv(1000)
    seconds = time.monotonic() - began
    lines = open_app.log.read_text().splitlines()[before:]
    assert 1 <= len(lines) <= seconds + 2
    assert all("Invalid HTTP request" in line for line in lines)


class Lines(logging.Handler):
    """A handler that keeps the records that pass the filter."""

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


def test_filter_passes_one_line_per_second(
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


def test_filter_separates_kinds_of_errors(lines: list[logging.LogRecord]) -> None:
    log = logging.getLogger("areaviz.test")
    for error in (ValueError("a"), ValueError("b"), OSError("c")):
        log.error("While it ran", exc_info=error)
    assert len(lines) == 2


def test_filter_remembers_a_bounded_number_of_causes() -> None:
    once = OncePerSecond()
    for number in range(5000):
        once.filter(logging.LogRecord("a", 30, "", 0, f"text {number}", None, None))
    assert len(once._last) <= 1024

"""Connections are bounded by the file descriptors left, and silent ones make room."""

from __future__ import annotations

import signal
import socket
import time
from typing import Any

import pytest

from areaviz.gateway import limits
from areaviz.gateway.limits import FROM_ONE, RESERVE, Connections
from areaviz.gateway.protocols import WINDOW_SECONDS
from tests.faults.client import Session
from tests.faults.served import Served
from tests.faults.silent import Silence, half_open, silent_sockets
from tests.gateway.client import connected, status
from tests.gateway.conftest import FIRST_MESSAGE_SECONDS, HARD, HEAD_SECONDS

# Seconds that a busy machine may take longer.
LATE = 12


def test_soft_limit_is_raised_to_the_hard_one(open_app: Served, tight_app: Served) -> None:
    assert status(open_app)["file_descriptors_limit"] == HARD
    assert status(tight_app)["file_descriptors_limit"] == 1024


def check(found: Silence, seconds: float) -> None:
    """Check that a visitor's page came, and when silent connections were closed."""
    assert found.seconds < LATE, str(found)
    assert found.gone < seconds + LATE, str(found)
    assert found.log < 20_000, str(found)


@pytest.mark.slow
def test_silent_sockets_keep_nobody_out(open_app: Served) -> None:
    found = silent_sockets(open_app, 300)
    check(found, FIRST_MESSAGE_SECONDS)
    assert found.gone > FIRST_MESSAGE_SECONDS - 2
    assert status(open_app)["sessions"] == 0


@pytest.mark.slow
def test_half_open_requests_keep_nobody_out(open_app: Served) -> None:
    check(half_open(open_app, 1100), HEAD_SECONDS)


@pytest.mark.slow
def test_silent_sockets_keep_nobody_out_of_a_tight_server(tight_app: Served) -> None:
    check(silent_sockets(tight_app, 300), FIRST_MESSAGE_SECONDS)


@pytest.mark.slow
def test_half_open_requests_on_a_tight_server_are_logged(tight_app: Served) -> None:
    check(half_open(tight_app, 1100), HEAD_SECONDS)
    log = tight_app.log.read_text()
    assert "of 1024 file descriptors are used" in log
    assert "Too many open files" not in log


@pytest.mark.slow
def test_visitors_who_have_left_keep_nobody_out(tight_app: Served) -> None:
    """Streamlit keeps 128 sessions of visitors who have left, each with file descriptors."""
    for _ in range(140):
        with Session.open(tight_app.url) as visitor:
            assert visitor.visit("models").messages
    assert "Too many open files" not in tight_app.log.read_text()


def test_open_page_does_not_keep_a_server_from_ending(tight_app: Served) -> None:
    """Comes last, because it ends the server."""
    with Session.open(tight_app.url) as visitor:
        visitor.visit("models")
        began = time.monotonic()
        tight_app.process.send_signal(signal.SIGTERM)
        tight_app.process.wait(20)
        assert time.monotonic() - began < 10


def test_head_is_bounded_in_time_and_length(open_app: Served) -> None:
    with connected(open_app) as slow:
        began = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            for _ in range(200):
                slow.sendall(b"a: b\r\n")
                time.sleep(0.1)
        assert HEAD_SECONDS - 1 < time.monotonic() - began < HEAD_SECONDS + LATE
    with connected(open_app) as long:
        long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"y" * 40_000)
        assert long.recv(100).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("length", [10_000, 50_000_000])
def test_body_that_does_not_come_is_not_waited_for(open_app: Served, length: int) -> None:
    head = f"PUT /a HTTP/1.1\r\nHost: {open_app.url[7:]}\r\nContent-Length: {length}\r\n\r\n"
    with connected(open_app) as line:
        began = time.monotonic()
        line.sendall(head.encode())
        while line.recv(65536):
            pass
        assert time.monotonic() - began < WINDOW_SECONDS + LATE


def test_requests_one_after_the_other_are_answered(open_app: Served) -> None:
    ask = f"GET /_stcore/health HTTP/1.1\r\nHost: {open_app.url[7:]}\r\n\r\n".encode()
    with connected(open_app) as line:
        for _ in range(3):
            line.sendall(ask)
            read_answers(line, 1)
        line.sendall(ask + ask)
        read_answers(line, 2)
        line.sendall(ask[:30])
        time.sleep(0.5)
        line.sendall(ask[30:])
        read_answers(line, 1)


def read_answers(line: socket.socket, many: int) -> None:
    got = b""
    while got.count(b"\r\n\r\nok") < many:
        part = line.recv(65536)
        assert part, "the connection was closed"
        got += part


class Line:
    """A connection without a network, with what `Connections` asks of it."""

    def __init__(self, client: str = "127.0.0.1") -> None:
        self.client, self.is_aborted = client, False

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return (self.client, 1) if name == "peername" else None

    def abort(self) -> None:
        self.is_aborted = True


def lines(many: int, client: str = "127.0.0.1") -> list[Any]:
    return [Line(client) for _ in range(many)]


@pytest.fixture
def twenty(monkeypatch: pytest.MonkeyPatch) -> Connections:
    """Room for twenty connections."""
    monkeypatch.setattr(limits.os, "listdir", lambda _: [])
    monkeypatch.setattr(limits, "LOOK_SECONDS", 1e9)
    monkeypatch.setattr(limits.asyncio, "WriteTransport", Line)
    return Connections(RESERVE + 20, ("10.0.0.9",))


def test_oldest_waiting_connection_makes_room(twenty: Connections) -> None:
    there = lines(20)
    assert all(twenty.enter(line) for line in there)
    twenty.settle(there[0])
    twenty.wait(there[1])
    assert twenty.enter(Line())  # type: ignore[arg-type]
    assert [line.is_aborted for line in there[:4]] == [False, False, True, False]


def test_new_connection_is_refused_where_nobody_waits(twenty: Connections) -> None:
    there = lines(20)
    for line in there:
        assert twenty.enter(line)
        twenty.settle(line)
    assert not twenty.enter(Line())  # type: ignore[arg-type]
    assert not any(line.is_aborted for line in there) and len(twenty) == 20


def test_session_takes_more_than_a_connection(twenty: Connections) -> None:
    there = lines(12)
    assert all(twenty.enter(line) for line in there)
    begun = [twenty.begin_session(line) for line in there]
    assert begun.count(True) == 12 and len(twenty) == 12, (
        "the reserve is for sessions that are about to begin"
    )
    more = lines(3)
    assert not twenty.enter(more[0])


def test_address_is_bounded_unless_many_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Connections(None, ("10.0.0.9",))
    assert all(many.enter(line) for line in lines(FROM_ONE, "203.0.113.7"))
    assert not many.enter(Line("203.0.113.7")) and many.enter(Line("203.0.113.8"))  # type: ignore[arg-type]
    for shared in ("10.0.0.9", "127.0.0.1", "::1"):
        assert all(many.enter(line) for line in lines(FROM_ONE + 5, shared))


def test_connection_that_has_left_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    many, there = Connections(None), lines(FROM_ONE, "203.0.113.7")
    for _ in range(3):
        assert all(many.enter(line) for line in there)
        for line in there:
            many.leave(line)
            many.leave(line)
    assert len(many) == 0

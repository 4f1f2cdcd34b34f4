"""Connections are limited by the available file descriptors, and idle ones make room."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from areaviz.gateway import protocols
from areaviz.gateway.protocols import (
    HEAD_BYTES,
    MAX_CONNECTIONS_PER_CLIENT,
    RESERVED_DESCRIPTORS,
    Connections,
)
from areaviz.gateway.serving import send_command
from areaviz.shares import FIRST_MESSAGE_SECONDS, HEAD_SECONDS
from tests.faults.served import Served
from tests.faults.silent import half_open, silent_sockets
from tests.gateway.client import connected, limited, port_of, status, wait_until
from tests.gateway.conftest import HARD
from tests.gateway.idle import SOON_SECONDS, check_connections_end, check_others_are_served
from tests.gateway.small_server import PATIENT_SECONDS


def test_soft_limit_is_raised_to_hard_limit(open_app: Served) -> None:
    assert status(open_app)["file_descriptors_limit"] == HARD


@pytest.mark.long
def test_silent_sockets_do_not_block_others(open_app: Served) -> None:
    check_others_are_served(open_app, silent_sockets, 300)
    check_connections_end(open_app, silent_sockets, 300, FIRST_MESSAGE_SECONDS)
    wait_until(lambda: status(open_app)["sessions"] == 0)


def test_half_open_requests_do_not_block_others(open_app: Served) -> None:
    check_others_are_served(open_app, half_open, 1100)
    check_connections_end(open_app, half_open, 1100, HEAD_SECONDS)


def test_head_is_bounded_in_time_and_length(open_app: Served) -> None:
    header = b"a: b\r\n"
    with limited(open_app, HEAD_SECONDS, SOON_SECONDS), connected(open_app) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            # The lines keep the connection from being idle, and together are no long head.
            for _ in range(HEAD_BYTES // len(header) - 10):
                slow.sendall(header)
                time.sleep(0.1)
    with connected(open_app) as long:
        long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"y" * 40_000)
        assert long.recv(100).startswith(b"HTTP/1.1 431")


@pytest.mark.long
def test_request_without_its_body_is_ended(open_app: Served) -> None:
    send_command(port_of(open_app), "window", str(SOON_SECONDS))
    with connected(open_app) as short, connected(open_app) as long:
        for line, length in ((short, 10_000), (long, 50_000_000)):
            head = f"PUT /a HTTP/1.1\r\nHost: {open_app.url[7:]}\r\nContent-Length: {length}"
            line.sendall(f"{head}\r\n\r\n".encode())
        for line in (short, long):
            while line.recv(65536):
                pass
    send_command(port_of(open_app), "window", str(PATIENT_SECONDS))


def test_connection_answers_several_requests(open_app: Served) -> None:
    ask = f"GET /_stcore/health HTTP/1.1\r\nHost: {open_app.url[7:]}\r\n\r\n".encode()
    with connected(open_app) as line:
        for _ in range(3):
            line.sendall(ask)
            read_answers(line, 1)
        line.sendall(ask + ask)
        read_answers(line, 2)
        line.sendall(ask[:30])
        # Long enough for the server to get the head in two parts.
        time.sleep(0.05)
        line.sendall(ask[30:])
        read_answers(line, 1)


def read_answers(line: socket.socket, many: int) -> None:
    got = b""
    while got.count(b"\r\n\r\nok") < many:
        part = line.recv(65536)
        assert part, "the connection was closed"
        got += part


class Line:
    """A connection without a network that records the calls of `Connections`."""

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
    """Return limits with room for twenty connections."""
    monkeypatch.setattr(protocols.os, "listdir", lambda _: [])
    monkeypatch.setattr(protocols, "LOOK_SECONDS", 1e9)
    monkeypatch.setattr(protocols.asyncio, "WriteTransport", Line)
    return Connections(RESERVED_DESCRIPTORS + 20, ("10.0.0.9",))


def test_oldest_waiting_connection_makes_room(twenty: Connections) -> None:
    there = lines(20)
    assert all(twenty.try_admit(line) for line in there)
    twenty.mark_request_received(there[0])
    twenty.wait(there[1])
    assert twenty.try_admit(Line())  # type: ignore[arg-type]
    assert [line.is_aborted for line in there[:4]] == [False, False, True, False]


def test_new_connection_is_refused_without_waiting_one(twenty: Connections) -> None:
    there = lines(20)
    for line in there:
        assert twenty.try_admit(line)
        twenty.mark_request_received(line)
    assert not twenty.try_admit(Line())  # type: ignore[arg-type]
    assert not any(line.is_aborted for line in there) and len(twenty) == 20


def test_session_counts_more_than_connection(twenty: Connections) -> None:
    there = lines(12)
    assert all(twenty.try_admit(line) for line in there)
    begun = [twenty.begin_session(line) for line in there]
    assert begun.count(True) == 12 and len(twenty) == 12, (
        "the reserve is for sessions that are about to begin"
    )
    more = lines(3)
    assert not twenty.try_admit(more[0])


def test_connections_of_an_address_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Connections(None, ("10.0.0.9",))
    assert all(many.try_admit(line) for line in lines(MAX_CONNECTIONS_PER_CLIENT, "203.0.113.7"))
    same, other = Line("203.0.113.7"), Line("203.0.113.8")
    assert not many.try_admit(same)  # type: ignore[arg-type]
    assert many.try_admit(other)  # type: ignore[arg-type]
    for shared in ("10.0.0.9", "127.0.0.1", "::1"):
        assert all(many.try_admit(line) for line in lines(MAX_CONNECTIONS_PER_CLIENT + 5, shared))


def test_closed_connection_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    many, there = Connections(None), lines(MAX_CONNECTIONS_PER_CLIENT, "203.0.113.7")
    for _ in range(3):
        assert all(many.try_admit(line) for line in there)
        for line in there:
            many.leave(line)
            many.leave(line)
    assert len(many) == 0

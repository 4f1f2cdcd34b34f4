"""Connections are bounded by the file descriptors left, and silent ones make room."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from areaviz.door import limits
from areaviz.door.limits import FROM_ONE, RESERVE, Connections
from tests.faults.client import Session
from tests.faults.served import ROOT, Served, served
from tests.faults.silent import half_open, silent_sockets

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def limited(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A shell's usual limits: 1,024 file descriptors, but more where one asks for them."""
    assert HARD >= 4096, "this machine allows too few file descriptors to test that"
    with served(
        tmp_path_factory.mktemp("roomy") / "log",
        {"OMP_NUM_THREADS": "1"},
        limit=limited(1024, HARD),
    ) as app:
        yield app


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """1,024 file descriptors and no more."""
    with served(
        tmp_path_factory.mktemp("tight") / "log",
        {"OMP_NUM_THREADS": "1"},
        limit=limited(1024, 1024),
    ) as app:
        yield app


def status(app: Served) -> dict[str, Any]:
    port = app.url.rpartition(":")[2]
    command = [sys.executable, "-m", "areaviz", "status", "--port", port, "--json"]
    told: dict[str, Any] = json.loads(
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    )
    return told


def connected(app: Served) -> socket.socket:
    host, _, port = app.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), 60)


def test_the_soft_limit_is_raised_to_the_hard_one(roomy: Served, tight: Served) -> None:
    assert status(roomy)["file_descriptors_limit"] == HARD
    assert status(tight)["file_descriptors_limit"] == 1024


@pytest.mark.slow
def test_300_silent_sockets_keep_nobody_out(roomy: Served) -> None:
    found = silent_sockets(roomy, 300)
    assert found.seconds < 15 and 25 < found.gone < 36 and found.log < 10_000, str(found)
    assert status(roomy)["sessions"] == 0


@pytest.mark.slow
def test_1100_half_open_requests_keep_nobody_out(roomy: Served) -> None:
    found = half_open(roomy, 1100)
    assert found.seconds < 15 and found.gone < 25 and found.log < 10_000, str(found)


@pytest.mark.slow
def test_with_1024_descriptors_silent_sockets_keep_nobody_out(tight: Served) -> None:
    found = silent_sockets(tight, 300)
    assert found.seconds < 30 and found.gone < 36 and found.log < 20_000, str(found)


@pytest.mark.slow
def test_with_1024_descriptors_half_open_requests_are_told_by_name(tight: Served) -> None:
    found = half_open(tight, 1100)
    assert found.seconds < 30 and found.gone < 25 and found.log < 20_000, str(found)
    said = tight.log.read_text()
    assert "of 1024 file descriptors are used" in said and "Too many open files" not in said


@pytest.mark.slow
def test_with_1024_descriptors_talking_sockets_are_bounded_too(tight: Served) -> None:
    """Visitors that each had a page; Streamlit keeps their sessions after they have left."""
    refused = 0
    for _ in range(260):
        try:
            with Session.open(tight.url) as visitor:
                visitor.visit("models")
        except Exception:
            refused += 1
    assert refused == 0, "who has left keeps nobody out"
    assert "Too many open files" not in tight.log.read_text()


def test_a_head_has_ten_seconds_and_a_length(roomy: Served) -> None:
    with connected(roomy) as slow:
        began = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            for _ in range(100):
                slow.sendall(b"a: b\r\n")
                time.sleep(0.3)
        assert 8 < time.monotonic() - began < 16
    with connected(roomy) as long:
        long.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"y" * 40_000)
        assert long.recv(100).startswith(b"HTTP/1.1 431")


def test_a_body_that_does_not_come_is_not_waited_for(roomy: Served) -> None:
    with connected(roomy) as line:
        began = time.monotonic()
        line.sendall(
            f"PUT / HTTP/1.1\r\nHost: {roomy.url[7:]}\r\nContent-Length: 10000\r\n\r\n".encode()
        )
        while line.recv(65536):
            pass
        assert time.monotonic() - began < 16


def test_requests_one_after_the_other_are_answered(roomy: Served) -> None:
    ask = f"GET /_stcore/health HTTP/1.1\r\nHost: {roomy.url[7:]}\r\n\r\n".encode()
    with connected(roomy) as line:
        for _ in range(3):
            line.sendall(ask)
            read_answers(line, 1)
        line.sendall(ask + ask)
        read_answers(line, 2)
        time.sleep(1)
        line.sendall(ask[:30])
        time.sleep(1)
        line.sendall(ask[30:])
        read_answers(line, 1)


def read_answers(line: socket.socket, many: int) -> None:
    got = b""
    while got.count(b"\r\n\r\nok") < many:
        part = line.recv(65536)
        assert part, "the connection was closed"
        got += part


class Line:
    """A connection without a network; only what `Connections` asks of it."""

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


def test_who_waits_for_longest_makes_room(twenty: Connections) -> None:
    there = lines(20)
    assert all(twenty.enter(line) for line in there)
    twenty.settle(there[0])
    twenty.wait(there[1])
    assert twenty.enter(Line())  # type: ignore[arg-type]
    assert [line.is_aborted for line in there[:4]] == [False, False, True, False]


def test_where_nobody_waits_the_new_one_is_refused(twenty: Connections) -> None:
    there = lines(20)
    for line in there:
        assert twenty.enter(line)
        twenty.settle(line)
    assert not twenty.enter(Line())  # type: ignore[arg-type]
    assert not any(line.is_aborted for line in there) and len(twenty) == 20


def test_sessions_take_more(twenty: Connections) -> None:
    there = lines(12)
    assert all(twenty.enter(line) for line in there)
    begun = [twenty.begin_session(line) for line in there]
    assert begun.count(True) == 12 and len(twenty) == 12, (
        "the reserve is for sessions that are about to begin"
    )
    more = lines(3)
    assert not twenty.enter(more[0])


def test_one_address_has_its_bound_and_shared_ones_have_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Connections(None, ("10.0.0.9",))
    assert all(many.enter(line) for line in lines(FROM_ONE, "203.0.113.7"))
    assert not many.enter(Line("203.0.113.7")) and many.enter(Line("203.0.113.8"))  # type: ignore[arg-type]
    for shared in ("10.0.0.9", "127.0.0.1", "::1"):
        assert all(many.enter(line) for line in lines(FROM_ONE + 5, shared))


def test_places_of_who_left_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    many, there = Connections(None), lines(FROM_ONE, "203.0.113.7")
    for _ in range(3):
        assert all(many.enter(line) for line in there)
        for line in there:
            many.leave(line)
            many.leave(line)
    assert len(many) == 0

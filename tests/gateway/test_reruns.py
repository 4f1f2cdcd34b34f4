"""Page runs have their own quota, which new cookies of an address do not multiply."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from areaviz.backend import access
from areaviz.gateway import messages
from areaviz.gateway.gateway import MESSAGE_BURST_SECONDS, AppPlace, Gateway
from areaviz.gateway.protocols import SOCKET
from areaviz.shares import ADDRESS_FACTOR, RERUNS_PER_SECOND, Rates
from tests.gateway.asgi import run_alone

SHARE = round(RERUNS_PER_SECOND.default * MESSAGE_BURST_SECONDS)
ADDRESS_SHARE = round(SHARE * ADDRESS_FACTOR.default)
RERUN = BackMsg()
RERUN.rerun_script.page_name = "translate"
HEARTBEAT = BackMsg(app_heartbeat=True)


class FakeSocket:
    """A connection with room for a session."""

    def charge_with(self, charge: object) -> None:
        """Count no bytes."""

    def begin_session(self) -> bool:
        return True


async def read_all(scope: Any, receive: Any, send: Any) -> None:
    """Act as the app: read all messages."""
    while (await receive())["type"] != "websocket.disconnect":
        pass


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that messages wait for, with a stopped clock."""
    found: list[float] = []

    async def note(seconds: float) -> None:
        if seconds > 0:
            found.append(seconds)

    monkeypatch.setattr(messages.asyncio, "sleep", note)
    monkeypatch.setattr(messages, "is_known_session", lambda session: False)
    return found


@pytest.fixture
def gateway() -> Gateway:
    made = Gateway(read_all, AppPlace("localhost", 8501), 120.0)
    made._rerun_rates = Rates(RERUNS_PER_SECOND, MESSAGE_BURST_SECONDS, clock=lambda: 0.0)
    return made


def say(gateway: Gateway, message: BackMsg, count: int, reader: str, client: str) -> None:
    """Send a message several times over a separate socket."""
    content = message.SerializeToString()
    left = [{"type": "websocket.connect"}]
    left += [{"type": "websocket.receive", "bytes": content}] * count
    left += [{"type": "websocket.disconnect"}]
    cookie = f"{access.name_reader_cookie(8501)}={reader}" if reader else ""
    scope = {
        "type": "websocket",
        "scheme": "ws",
        "path": "/_stcore/stream",
        "raw_path": b"/_stcore/stream",
        "query_string": b"",
        "headers": [(b"host", b"localhost:8501"), (b"cookie", cookie.encode())],
        "client": (client, 1),
        "state": {SOCKET: FakeSocket()},
    }

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        pass

    run_alone(gateway(scope, receive, send))
    assert left == []


def test_user_reruns_are_limited(gateway: Gateway, waits: list[float]) -> None:
    reader = access.make_reader_id()
    say(gateway, RERUN, SHARE, reader, "203.0.113.7")
    assert waits == []
    say(gateway, RERUN, 2, reader, "203.0.113.7")
    assert waits == pytest.approx([0.2, 0.4])


def test_fresh_cookies_of_an_address_share_reruns(gateway: Gateway, waits: list[float]) -> None:
    for _ in range(ADDRESS_SHARE // 10):
        say(gateway, RERUN, 10, access.make_reader_id(), "203.0.113.7")
    assert waits == []
    say(gateway, RERUN, 1, access.make_reader_id(), "203.0.113.7")
    assert waits == pytest.approx([0.05])
    say(gateway, RERUN, 1, access.make_reader_id(), "203.0.113.8")
    assert len(waits) == 1


def test_sockets_without_cookie_share_reruns(gateway: Gateway, waits: list[float]) -> None:
    for number in range(SHARE // 10):
        say(gateway, RERUN, 10, "", f"203.0.113.{number}")
    assert waits == []
    say(gateway, RERUN, 1, "", "203.0.113.99")
    assert waits == pytest.approx([0.2])


def test_other_messages_do_not_count_as_reruns(gateway: Gateway, waits: list[float]) -> None:
    reader = access.make_reader_id()
    say(gateway, HEARTBEAT, 2 * SHARE, reader, "203.0.113.7")
    say(gateway, RERUN, SHARE, reader, "203.0.113.7")
    assert waits == []

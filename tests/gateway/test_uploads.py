"""Uploads count when they arrive, and no reader uses up the room of other readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from areaviz.gateway import gateway as uploads
from areaviz.gateway.gateway import AppPlace, Gateway
from tests.gateway.asgi import Answer, TimelessLoop, asked, run_alone

MEGABYTE = 2**20
READERS = tuple(f"{number:032x}" for number in range(1, 200))


class Store:
    """A stand-in for Streamlit that keeps the size of every upload by session."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}
        self.sessions: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Read an upload to its end and keep it, as Streamlit does."""
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size, more = size + len(message["body"]), message["more_body"]
        session = scope["path"].split("/")[3]
        self.held[session] = self.held.get(session, 0) + size
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store()
    monkeypatch.setattr(uploads, "is_active_session", made.sessions.__contains__)
    monkeypatch.setattr(uploads, "count_uploaded_bytes", lambda: made.held)
    return made


class Sender:
    """A client that decides when parts of its upload arrive."""

    def __init__(self, gateway: Gateway, session: str, size: int, reader: str, client: str) -> None:
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._scope = {
            "type": "http",
            "method": "PUT",
            "scheme": "http",
            "path": f"/_stcore/upload_file/{session}/a",
            "query_string": b"",
            "headers": [
                (b"host", b"localhost:8501"),
                (b"content-length", str(size).encode()),
                (b"cookie", f"areaviz_reader_8501={reader}".encode()),
            ],
            "client": (client, 1),
        }
        self.sent: list[Any] = []
        self._door = gateway
        self.task = asyncio.ensure_future(self._run())

    async def _run(self) -> int:
        await self._door(self._scope, self._receive, self._send)
        return int(self.sent[0]["status"]) if self.sent else 0

    async def _receive(self) -> Any:
        part = await self._parts.get()
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": part != b""}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    def feed(self, size: int) -> None:
        self._parts.put_nowait(b"a" * size)

    def finish(self) -> None:
        self._parts.put_nowait(b"")

    def leave(self) -> None:
        self._parts.put_nowait(None)


def run(store: Store, story: Callable[[Callable[..., Sender]], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario of uploads with one gateway."""

    async def told() -> None:
        gateway = Gateway(store, AppPlace("localhost", 8501, proxies=("10.0.0.9",)), 120.0)
        senders = []

        def begin(
            session: str, size: int, reader: str = READERS[0], client: str = "203.0.113.1"
        ) -> Sender:
            store.sessions.add(session)
            senders.append(Sender(gateway, session, size, reader, client))
            return senders[-1]

        await story(begin)
        for sender in senders:
            sender.leave()
        await asyncio.gather(*(sender.task for sender in senders))

    run_alone(told(), TimelessLoop)


def whole(sender: Sender, size: int) -> asyncio.Future[int]:
    """Send a complete upload, and return its status."""
    sender.feed(size)
    sender.finish()
    return sender.task


@pytest.mark.parametrize("cookies", ["one", "fresh", "none"])
def test_announced_bytes_are_not_counted(store: Store, cookies: str) -> None:
    """Check eleven idle uploads of 50 MB, the size of an attack that blocked all uploads."""

    async def story(begin: Callable[..., Sender]) -> None:
        for number in range(11):
            reader = {"one": READERS[0], "fresh": READERS[number], "none": ""}[cookies]
            begin(f"idle-{number}", 50 * MEGABYTE, reader, "203.0.113.66")
        await asyncio.sleep(0)
        other = begin("other", 1000, READERS[100], "203.0.113.2")
        assert await whole(other, 1000) == 204

    run(store, story)
    assert store.held == {"other": 1000}


def test_uploads_of_a_reader_run_a_few_at_a_time(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        running = [begin("own", 1000) for _ in range(6)]
        waiting = begin("own", 1000)
        await asyncio.sleep(0.01)
        assert await whole(running[0], 1000) == 204
        assert await whole(waiting, 1000) == 204
        begin("own", 1000)
        refused = begin("own", 1000)
        assert await refused.task == 429
        assert "6 files at the same time" in refused.sent[1]["body"].decode()

    run(store, story)
    assert store.held == {"own": 2000}


def test_session_that_ends_ends_its_uploads(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        sender = begin("own", 50 * MEGABYTE)
        sender.feed(MEGABYTE)
        await asyncio.sleep(0.01)
        store.sessions.discard("own")
        assert await sender.task == 403
        assert "no longer connected" in sender.sent[1]["body"].decode()

    run(store, story)
    assert store.held == {}


def test_reader_is_bounded_over_all_sessions(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        statuses = []
        for number in range(8):
            sender = begin(f"tab-{number}", 45 * MEGABYTE)
            statuses.append(await whole(sender, 45 * MEGABYTE))
        assert statuses == [204] * 4 + [413] * 4
        other = begin("other", MEGABYTE, READERS[1], "203.0.113.2")
        assert await whole(other, MEGABYTE) == 204

    run(store, story)


def test_upload_beyond_share_is_cut_off(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        senders = [begin("own", 45 * MEGABYTE) for _ in range(5)]
        for sender in senders:
            sender.feed(44 * MEGABYTE)
        await asyncio.sleep(0.01)
        late = begin("own", 3 * MEGABYTE)
        late.feed(1)
        await asyncio.sleep(0.01)
        senders[0].feed(5 * MEGABYTE)
        assert await senders[0].task == 413
        assert "224 MB together" in senders[0].sent[1]["body"].decode()

    run(store, story)


def test_fresh_cookies_leave_room_for_other_addresses(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        statuses = []
        for number in range(14):
            sender = begin(f"tab-{number}", 40 * MEGABYTE, READERS[number])
            statuses.append(await whole(sender, 40 * MEGABYTE))
        assert statuses == [204] * 9 + [413] * 5
        other = begin("other", 40 * MEGABYTE, READERS[100], "203.0.113.2")
        assert await whole(other, 40 * MEGABYTE) == 204

    run(store, story)


def test_share_is_free_again_when_files_are_gone(store: Store) -> None:
    async def story(begin: Callable[..., Sender]) -> None:
        for _ in range(5):
            await whole(begin("own", 44 * MEGABYTE), 44 * MEGABYTE)
        assert await begin("own", 44 * MEGABYTE).task == 413
        store.held.clear()
        assert await whole(begin("own", 44 * MEGABYTE), 44 * MEGABYTE) == 204

    run(store, story)


def test_upload_of_unknown_length_is_refused(store: Store) -> None:
    store.sessions.add("own")
    gateway = Gateway(store, AppPlace("localhost", 8501), 120.0)
    path = "/_stcore/upload_file/own/a"

    def status(**headers: str) -> Answer:
        return run_alone(asked(gateway, "PUT", path, [b""], **headers))

    assert status().status == 411
    assert status(content_length="9" * 20).status == 411
    assert status(content_length="5", transfer_encoding="chunked").status == 411

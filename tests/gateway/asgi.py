"""Requests to an ASGI app without a network, for tests of the gateway."""

from __future__ import annotations

import asyncio
import selectors
from asyncio import AbstractEventLoop as Loop
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """An app's answer to a request."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that reached the app behind the gateway."""

    path: str
    raw_path: str
    root_path: str


class Behind:
    """The app behind the gateway. It answers every request with "behind" and records it."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        raw_path = scope.get("raw_path", b"").decode()
        self.asked.append(Asked(scope["path"], raw_path, scope.get("root_path", "")))
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"behind"})


def ask(app: Any, method: str, address: str, body: str = "", **headers: str) -> Answer:
    """Return the answer to one request.

    Args:
        app: an ASGI app.
        method: such as "GET".
        address: path and query, as written in a request.
        body: the content of the request.
        headers: by name, with underscores; "client" is the address that the request comes from,
            and "scheme" is "http" or "https".
    """
    return run_alone(asked(app, method, address, [body.encode()], **headers))


def run_alone(work: Coroutine[Any, Any, T], loop: Callable[[], Loop] | None = None) -> T:
    """Run a coroutine in a separate thread.

    Browsers of other tests may have left an event loop running in this thread.

    Args:
        work: the coroutine.
        loop: makes the event loop, such as `TimelessLoop`. None makes the usual one.
    """

    def run() -> T:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


class _Jumping(selectors.DefaultSelector):
    """A selector that does not wait: it moves a clock on by the time that it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, and let the time pass if nothing is."""
        # Without a timer, only something that is ready can end the wait.
        found = super().select(timeout if timeout is None else 0)
        if not found:
            self.now += timeout or 0.0
        return found


class TimelessLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while nothing else is left to do.

    Timers therefore come in order and at once, whatever else the machine does. Work in other
    threads takes no time.
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the seconds that have passed in the loop."""
        return self._jumping.now


async def asked(
    app: Any, method: str, address: str, parts: Sequence[bytes], **headers: str
) -> Answer:
    """Return the answer to one request whose body comes in parts."""
    client, scheme = headers.pop("client", "203.0.113.7"), headers.pop("scheme", "http")
    # An address may begin with two slashes, so it is not split as a URL.
    path, _, query = address.partition("?")
    given = {"host": "localhost:8501", **headers}
    scope = {
        "type": "http",
        "method": method,
        "scheme": scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in given.items()
        ],
        "client": (client, 1),
        "state": {},
    }
    left = list(parts)
    sent: list[Any] = []

    async def receive() -> Any:
        if left:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    text = b"".join(one.get("body", b"") for one in sent[1:]).decode()
    return Answer(sent[0]["status"], names, text)

"""Requests to an ASGI app without a network, for tests of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
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


def run_alone(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a separate thread.

    Browsers of other tests may have left an event loop running in this thread.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


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

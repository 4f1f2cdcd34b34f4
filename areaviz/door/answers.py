"""What the door itself answers: a sentence, a page, a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Send

Headers = Iterable[tuple[str, str]]
_ALWAYS = (
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
)
NOTHING_LOADED = "default-src 'none'; frame-ancestors 'none'"


async def answer_text(send: Send, status: int, sentence: str, headers: Headers = ()) -> None:
    """Answer with plain text."""
    policy = ("content-security-policy", NOTHING_LOADED)
    await _answer(send, status, sentence, "text/plain", (policy, *headers))


async def answer_page(send: Send, status: int, html: str, headers: Headers) -> None:
    """Answer with a page of the door's own; headers: its security policy among them."""
    await _answer(send, status, html, "text/html", headers)


async def redirect(send: Send, address: str, headers: Headers = ()) -> None:
    """Send the browser to an address of this server, which must be ASCII without control
    characters.
    """
    await _answer(send, 303, "", "text/plain", (("location", address), *headers))


async def refuse_socket(receive: Receive, send: Send) -> None:
    """Refuse a handshake; the server answers 403."""
    await receive()
    await send({"type": "websocket.close", "code": 1008})


async def _answer(send: Send, status: int, text: str, kind: str, headers: Headers) -> None:
    body = text.encode("utf-8")
    own = (("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body))))
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in (*own, *_ALWAYS, *headers)]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})

"""Serving of an app below a path such as /areaviz, behind a proxy that strips or keeps it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from areaviz.gateway.http import redirect
from areaviz.trace.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BASE = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


def check_base_path(base: str) -> str:
    """Return a base path without a final slash, or "" if the app has none.

    Raises:
        InputError: the path is not one that all proxies pass on unchanged.
    """
    base = base.rstrip("/")
    if base and not _BASE.fullmatch(base):
        raise InputError(
            f'The base path "{base}" cannot be used. Write it as /NAME, with letters, digits'
            " and any of ._~- in NAME."
        )
    return base


@dataclass(frozen=True, slots=True)
class BasePath:
    """Passes requests on to `app` without the base path, and adds it to redirects.

    A page loads everything by relative URLs. The app therefore works without knowing the base path,
    and a proxy may strip it.

    Args:
        app: answers requests without the base path.
        base: the base path as `check_base_path` returns it.
    """

    app: ASGIApp
    base: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request or a WebSocket."""
        if not self.base or scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if scope["path"] == self.base and scope["type"] == "http":
            # The relative URLs of the first page require the final slash.
            query = scope.get("query_string", b"").decode("latin-1")
            return await redirect(send, f"{self.base}/{'?' if query else ''}{query}")

        async def send_below(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [self._add_path(name, value) for name, value in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        return await self.app(self._strip_path(scope), receive, send_below)

    def _strip_path(self, scope: Scope) -> Scope:
        if not scope["path"].startswith(f"{self.base}/"):
            return scope
        stripped = {**scope, "path": scope["path"].removeprefix(self.base)}
        if "raw_path" in scope:
            stripped["raw_path"] = scope["raw_path"].removeprefix(self.base.encode())
        return stripped

    def _add_path(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        if name.lower() == b"location" and value.startswith(b"/"):
            return name, self.base.encode() + value
        return name, value

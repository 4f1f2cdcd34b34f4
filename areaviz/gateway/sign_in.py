"""Sign-in with the access token: the form, the limit on attempts, and the cookie."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import html
import logging
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from areaviz.backend import access
from areaviz.gateway.protocols import Head, answer_page, answer_text, redirect
from areaviz.shares import find_network

if TYPE_CHECKING:
    from starlette.types import Receive, Send


log = logging.getLogger(__name__)

# The path to which the form is sent, and the link parameter that can contain the token.
PATH, PARAMETER = "/sign-in", "token"
WRONG = "That access token is not valid. Check it with whoever runs the app, then try again."
TOO_MANY = "Too many wrong tokens came from your address. Try again in a minute."
TOO_MANY_LINKS = "Too many links with a wrong token came from your address. Enter the token here."
ATTEMPTS, WITHIN_SECONDS, ADDRESSES = 5, 60.0, 1024
# Seconds per comparison of a link after too many wrong links, and number of links that may wait.
LINK_SECONDS, LINKS_WAITING = 1.0, 10
BODY_BYTES, BODY_SECONDS = 8192, 10.0

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 18vh auto 0;
  padding: 0 1rem; }
h1 { font: 600 1.85rem/1.2 serif; }
label { display: block; margin: 1.5rem 0 .75rem; }
input { display: block; box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .5rem;
  font: inherit; }
button { padding: .45rem 1.1rem; font: inherit; }
"""
_FORM = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>areaviz</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>{style}</style></head>
<body><main><h1>areaviz</h1><p>This app is not public. Its owner has the access token.</p>
<form method="post" action="{action}"><input type="hidden" name="next" value="{next}">
<label>Access token <input name="token" type="password" autofocus required
autocomplete="current-password"></label>
<button>Open</button></form><p role="alert">{alert}</p></main></body></html>
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors {ancestors}"
)


class SignIn:
    """Admits users who have the access token.

    Args:
        key: the key of the token, see `access.make_admission_key`.
        port: the port in the cookie's name.
        framing: origins of websites that may show the app in a frame.
        base: the base path of the app, or "".
    """

    def __init__(self, key: str, port: int, framing: tuple[str, ...] = (), base: str = "") -> None:
        self._key, self._cookie, self._framing = key, access.name_admission_cookie(port), framing
        self._base = base
        # Links have a separate count, because a foreign page can make a browser request wrong
        # links. After wrong links a correct link still works, but links are then compared slowly.
        self._typed = Attempts(TOO_MANY)
        self._linked = Attempts(TOO_MANY_LINKS, LINK_SECONDS, LINKS_WAITING)

    def admits(self, head: Head) -> bool:
        """Return whether the request has the cookie of an admitted user."""
        return access.is_admission(head.cookie(self._cookie), self._key)

    async def answer(self, head: Head, receive: Receive, send: Send) -> None:
        """Answer a user who is not admitted: with the form, or by checking a token."""
        if head.method == "POST" and head.path == PATH:
            fields = dict(parse_qsl((await _read_body(receive)).decode("latin-1")))
            token, where = fields.get("token", ""), fields.get("next", "/")
            await self._try(self._typed, head, token, where, send)
        elif head.method in ("GET", "HEAD"):
            token, where = without_token(head)
            if token:
                await self._try(self._linked, head, token, where, send)
            else:
                await self._form(send, 401, where, "")
        else:
            await answer_text(
                send, 401, "This app needs its access token. Open it in a browser to sign in."
            )

    async def _try(
        self, attempts: Attempts, head: Head, token: str, where: str, send: Send
    ) -> None:
        """Answer one attempt. The token is not even compared if the address has to wait."""
        wait = attempts.next_wait(head.client)
        if wait is None:
            return await self._form(send, 429, where, attempts.refusal)
        await asyncio.sleep(wait)
        if not hmac.compare_digest(access.make_admission_key(token.strip()), self._key):
            is_limited = attempts.has_too_many(head.client)
            attempts.add(head.client)
            log.warning("A wrong access token was given from %s.", head.client)
            if is_limited:
                return await self._form(send, 429, where, attempts.refusal)
            return await self._form(send, 401, where, WRONG)
        log.info("The access token was given from %s.", head.client)
        value, framed = access.make_admission(self._key), bool(self._framing)
        header = access.set_cookie(
            self._cookie, value, access.ADMITTED_DAYS, head.secure, framed, self._base
        )
        return await redirect(send, where, [("set-cookie", header)])

    async def _form(self, send: Send, status: int, where: str, alert: str) -> None:
        page = _FORM.format(
            style=_STYLE,
            action=self._base + PATH,
            next=html.escape(where),
            alert=html.escape(alert),
        )
        policy = _POLICY.format(ancestors=" ".join(self._framing) or "'none'")
        headers = [("content-security-policy", policy)]
        if status == 429:
            headers.append(("retry-after", str(round(WITHIN_SECONDS))))
        await answer_page(send, status, page, headers)


class Attempts:
    """The wrong tokens from each address within the last minute.

    Args:
        refusal: the message for a user who has to wait.
        pause_seconds: seconds between two compared tokens after too many wrong ones.
        waiting: number of tokens of an address that may wait for comparison. 0 refuses all of them.
    """

    def __init__(
        self, refusal: str = TOO_MANY, pause_seconds: float = 1.0, waiting: int = 0
    ) -> None:
        self.refusal = refusal
        self._pause_seconds, self._waiting = pause_seconds, waiting
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        # The time when the next token of a limited address may be compared.
        self._turns: OrderedDict[str, float] = OrderedDict()

    def next_wait(self, client: str) -> float | None:
        """Return the seconds until a token of an address is compared, or None if it is refused."""
        if not self.has_too_many(client):
            return 0.0
        network, now = _get_network(client), time.monotonic()
        turn = max(self._turns.get(network, 0.0), now)
        if turn - now >= self._waiting * self._pause_seconds:
            return None
        self._turns[network] = turn + self._pause_seconds
        self._turns.move_to_end(network)
        while len(self._turns) > ADDRESSES:
            self._turns.popitem(last=False)
        return turn - now

    def has_too_many(self, client: str) -> bool:
        """Return whether an address has to wait."""
        times = self._times.get(_get_network(client), deque())
        while times and time.monotonic() - times[0] > WITHIN_SECONDS:
            times.popleft()
        return len(times) >= ATTEMPTS

    def add(self, client: str) -> None:
        """Count a wrong token from an address."""
        network = _get_network(client)
        self._times.setdefault(network, deque()).append(time.monotonic())
        self._times.move_to_end(network)
        while len(self._times) > ADDRESSES:
            self._times.popitem(last=False)


def without_token(head: Head) -> tuple[str, str]:
    """Return the token in a URL, or "", and the URL without it."""
    token, rest = "", []
    for name, value in parse_qsl(head.query, keep_blank_values=True):
        if name == PARAMETER:
            token = token or value
        else:
            rest.append((name, value))
    path = quote(head.path) if head.path != PATH else "/"
    query = urlencode(rest) if token else head.query
    return token, f"{path}?{query}" if query else path


def _get_network(client: str) -> str:
    return find_network(client) or client


async def _read_body(receive: Receive) -> bytes:
    """Return the sent form up to its largest length, or b"" if it arrived too slowly."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while len(body) < BODY_BYTES:
                message = await receive()
                body += message.get("body", b"")
                if message["type"] != "http.request" or not message.get("more_body", False):
                    break
    except TimeoutError:
        return b""
    return bytes(body[:BODY_BYTES])

"""Models on other machines, by an HTTP client of `python -m areaviz serve models`."""

from __future__ import annotations

import hashlib
import logging
import math
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import requests
from requests.adapters import HTTPAdapter

from areaviz.backend import wire
from areaviz.backend.backend import OWN_WORK, Caller, make_cache_key
from areaviz.cards.card import Card
from areaviz.shares import Visitor
from areaviz.trace import file, safe_files
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import Logits
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.file import logits_from_bytes
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)

CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 120.0

# Seconds for which the server's descriptions are kept, and retry interval if it does not answer.
ABOUT_SECONDS, ABOUT_AGAIN_SECONDS = 10.0, 2.0

CONNECTIONS = 32
_CHUNK = 2**16
_SERVER_ERROR, _UNAVAILABLE = 500, 503
_ADDRESS = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


class RemoteBackend:
    """The models of a server, over HTTP.

    Requests change nothing on the server, so a request that is lost with a replica is sent once
    more. A second failure is a `BackendError`. The weights of large maps stay on the server and are
    fetched layer by layer when a view reads them.

    Args:
        address: URL such as "http://127.0.0.1:8000".
        token: the server's access token.
        answer_seconds: how long to wait for a result.

    Raises:
        BackendError: if the address is not such a URL.
    """

    def __init__(self, address: str, token: str, answer_seconds: float = ANSWER_SECONDS) -> None:
        if not _ADDRESS.fullmatch(address):
            raise BackendError(
                "This is not the address of a model server. Give one such as http://127.0.0.1:8000."
            )
        self._address, self._seconds = address.rstrip("/"), answer_seconds
        self._http = requests.Session()
        # Without this, a .netrc file could replace the token, or a proxy could receive it.
        self._http.trust_env = False
        self._http.headers["Authorization"] = f"Bearer {token}"
        for scheme in ("http://", "https://"):
            self._http.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=CONNECTIONS))
        # Key for the marks of users, so that only this process can link a mark to an id.
        self._secret = secrets.token_bytes(32)
        self._about = wire.ServerDescription({}, (), self._address)
        self._about_until = 0.0  # monotonic seconds, 0 before the first answer
        self._about_lock = threading.Lock()

    def models(self) -> dict[str, Card]:
        """Return the server's models, or the last known ones if it does not answer."""
        return dict(self._described().models)

    def problems(self) -> tuple[str, ...]:
        """Return the server's problems, including that it does not answer."""
        return self._described().problems

    def device(self) -> str:
        """Return a description of the server's device."""
        return f"{self._described().device}, at {self._address}"

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run a request on the server, see `Backend`."""
        checked = request.checked()
        if progress:
            progress(0.0, "Waiting for the server of the models")
        key, marked = self._key(checked), self._marked(caller)

        def fetch(site: str, layer: int) -> FloatArray:
            message = wire.LayerMessage(checked, key, site, layer, marked)
            return self._layer(message, found.maps[site].weights.shape[1:])

        body = wire.trace_to_json(wire.TraceMessage(checked, marked))
        content = self._send(wire.TRACE, safe_files.MAX_BYTES, body, key)
        with _convert_damage_errors():
            found = file.trace_from_bytes(content, fetch)
        if not _is_answer_to(found.request, checked):
            raise BackendError("The model server answered another request. Run the model again.")
        return found

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of a layer's logits, see `Explaining`."""
        checked = request.checked()
        if progress:
            progress(0.0, "Waiting for the server of the models")
        key = self._key(checked)
        message = wire.LayerMessage(checked, key, site, layer, self._marked(caller))
        content = self._send(wire.LOGITS, safe_files.MAX_BYTES, wire.layer_to_json(message), key)
        with _convert_damage_errors():
            return logits_from_bytes(content)

    def _key(self, checked: Request) -> str:
        return make_cache_key(checked, self.models().get(checked.model))

    def _marked(self, caller: Caller) -> Caller:
        """Return a caller with marks instead of the user's id, which is a secret."""
        visitor = caller.visitor
        if visitor is None:
            return caller
        marks = Visitor(self._mark(visitor.reader), self._mark(visitor.address))
        return replace(caller, visitor=marks)

    def _mark(self, value: str) -> str:
        if not value:
            return ""
        return hashlib.blake2b(value.encode(), key=self._secret, digest_size=16).hexdigest()

    def _layer(self, message: wire.LayerMessage, shape: tuple[int, ...]) -> FloatArray:
        most = 4 * math.prod(shape) + _CHUNK
        content = self._send(wire.LAYER, most, wire.layer_to_json(message), message.key)
        with _convert_damage_errors():
            return file.layer_from_bytes(content, shape)

    def _described(self) -> wire.ServerDescription:
        """Return the server's descriptions, which one caller at a time fetches.

        While one caller fetches, other callers get the last descriptions without waiting. They wait
        only for the first ones.
        """
        is_first = not self._about_until
        if time.monotonic() < self._about_until or not self._about_lock.acquire(blocking=is_first):
            return self._about
        try:
            # Another caller may have fetched them while this caller waited.
            if time.monotonic() >= self._about_until:
                self._fetch_about()
        finally:
            self._about_lock.release()
        return self._about

    def _fetch_about(self) -> None:
        try:
            content = self._send(wire.MODELS, wire.MAX_ABOUT_BYTES, seconds=ABOUT_SECONDS)
            with _convert_damage_errors():
                self._about, holds = wire.decode_description(content), ABOUT_SECONDS
        except BackendError as error:
            self._about = replace(self._about, problems=(str(error),))
            holds = ABOUT_AGAIN_SECONDS
        self._about_until = time.monotonic() + holds

    def _send(
        self, path: str, most: int, body: bytes = b"", key: str = "", seconds: float = 0.0
    ) -> bytes:
        """Return the content of the server's answer. Send a lost request once more.

        Args:
            path: the route.
            most: largest size of the answer in bytes.
            body: the body of a POST, which is empty for a GET.
            key: the key of the trace, by which the server chooses a replica.
            seconds: maximum time to wait. 0 stands for the time of a result.
        """
        once = partial(self._send_once, path, most, body, key, seconds or self._seconds)
        try:
            try:
                return once()
            except requests.Timeout:
                raise  # The server may still be working on the request, so do not send it again.
            except _LOST as error:
                kind = type(error).__name__
                log.warning("The request for %s was lost (%s) and is sent again", path, kind)
                return once()
        except requests.Timeout as error:
            raise BackendError(
                f"The model server at {self._address} did not answer in time. Your input is"
                " kept. Try again later."
            ) from error
        except (requests.RequestException, _Broken) as error:
            raise BackendError(
                f"The model server at {self._address} cannot be reached, or it closed the"
                " connection. Your input is kept. Try again in a moment."
            ) from error

    def _send_once(self, path: str, most: int, body: bytes, key: str, seconds: float) -> bytes:
        headers = {"Content-Type": wire.JSON, "Accept-Encoding": "identity", wire.AFFINITY: key}
        with self._http.request(
            "POST" if body else "GET",
            self._address + path,
            data=body,
            headers=headers,
            timeout=(CONNECT_SECONDS, seconds),
            stream=True,
            allow_redirects=False,
        ) as answer:
            content = bytearray()
            for chunk in answer.iter_content(_CHUNK):
                content += chunk
                if len(content) > most:
                    raise BackendError(_STRANGE)
            if answer.status_code != 200:
                raise _make_failure(answer.status_code, bytes(content))
            return bytes(content)


class _Broken(Exception):
    """An answer from a proxy or from Ray Serve because no replica answered."""


_LOST = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, _Broken)
_STRANGE = (
    "The answer of the model server has an unknown format. Update the app and the server to"
    " one version."
)


def _make_failure(status: int, content: bytes) -> Exception:
    """Return the error for an answer that reports a failure."""
    kind, sentence = wire.failure_from_json(content)
    if kind == "input":
        return InputError(sentence)
    if kind == "token":
        return BackendError(
            "The model server refused the access token. Set AREAVIZ_TOKEN_FILE to the file of"
            " its token."
        )
    if kind and kind != "busy":
        return BackendError(sentence)
    if status == _UNAVAILABLE:
        return BackendBusy(
            sentence
            or (
                "The models are busy: too many requests are waiting already. Try again in a moment."
            )
        )
    return _Broken(f"status {status}") if status >= _SERVER_ERROR else BackendError(_STRANGE)


def _is_answer_to(found: Request, asked: Request) -> bool:
    """Return whether a trace belongs to this request. Its picture may be only the visible part."""
    if found.picture is None or asked.picture is None:
        return found == asked
    is_picture = found.picture.name == asked.picture.name
    return is_picture and replace(found, picture=None) == replace(asked, picture=None)


@contextmanager
def _convert_damage_errors() -> Iterator[None]:
    """Raise a BackendError for a damaged answer, because the user's input is not the cause."""
    try:
        yield
    except ValueError as error:
        raise BackendError(_STRANGE) from error

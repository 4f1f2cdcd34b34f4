"""Models on other machines: the HTTP client of a server of models (`python -m areaviz serve
models`).
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from areaviz.backend import wire
from areaviz.backend.base import Progress
from areaviz.backend.cached import key_of
from areaviz.cards.card import Card
from areaviz.trace import archive, codec
from areaviz.trace.errors import BackendError, Busy, InputError
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Request

log = logging.getLogger(__name__)

CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 120.0
ABOUT_SECONDS, ABOUT_AGAIN_SECONDS = 10.0, 2.0
"""How long the server's descriptions are taken to hold; and how soon it is asked again where it did
not answer.
"""
CONNECTIONS = 32
_CHUNK = 2**16
_SERVER_ERROR, _UNAVAILABLE = 500, 503
_ADDRESS = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


class RemoteBackend:
    """The models of a server, asked over HTTP.

    address: such as "http://127.0.0.1:8000". token: the server's access token. answer_seconds: how
    long a result is waited for. A request is a pure read, so one that is lost with a replica is
    sent once more; what fails then is a `BackendError`. Weights of large maps stay at the server
    and are fetched a layer at a time, when a view reads them.

    Raises:
        BackendError: the address is none.
    """

    def __init__(self, address: str, token: str, answer_seconds: float = ANSWER_SECONDS) -> None:
        if not _ADDRESS.fullmatch(address):
            raise BackendError(
                "A server of models has an address such as http://127.0.0.1:8000; name one like it."
            )
        self._address, self._seconds = address.rstrip("/"), answer_seconds
        self._http = requests.Session()
        self._http.trust_env = False  # else a .netrc may replace the token, or a proxy get it
        self._http.headers["Authorization"] = f"Bearer {token}"
        for scheme in ("http://", "https://"):
            self._http.mount(scheme, HTTPAdapter(pool_connections=1, pool_maxsize=CONNECTIONS))
        self._about = wire.About({}, (), self._address)
        self._holds_until, self._lock = 0.0, threading.Lock()

    def models(self) -> dict[str, Card]:
        """The server's models; those known last while it does not answer."""
        return dict(self._described().models)

    def problems(self) -> tuple[str, ...]:
        """The server's problems, or that it does not answer."""
        return self._described().problems

    def device(self) -> str:
        """Where the server's models run."""
        return f"{self._described().device}, at {self._address}"

    def trace(
        self, request: Request, progress: Progress | None = None, background: bool = False
    ) -> Trace:
        """Run a request at the server; raises InputError or BackendError."""
        checked = request.checked()
        if progress:
            progress(0.0, "Waiting for the server of the models")
        key = key_of(checked, self.models().get(checked.model))

        def fetch(site: str, layer: int) -> FloatArray:
            attention = found.maps[site]
            asked = wire.LayerAsked(checked, key, site, layer)
            return self._layer(asked, attention.weights.shape[1:])

        body = wire.trace_to_json(wire.TraceAsked(checked, background))
        content = self._ask("POST", wire.TRACE, archive.MAX_BYTES, body, key)
        with _as_ours():
            found = codec.from_bytes(content, fetch)
        if found.request != checked:
            raise BackendError("The server of the models answered another request; run it again.")
        return found

    def _layer(self, asked: wire.LayerAsked, shape: tuple[int, ...]) -> FloatArray:
        most = 4 * shape[0] * shape[1] * shape[2] + _CHUNK
        content = self._ask("POST", wire.LAYER, most, wire.layer_to_json(asked), asked.key)
        with _as_ours():
            return codec.layer_from_bytes(content, shape)

    def _described(self) -> wire.About:
        """What the server said of itself a short while ago."""
        with self._lock:
            if time.monotonic() >= self._holds_until:
                try:
                    self._about, holds = self._fresh(), ABOUT_SECONDS
                except BackendError as error:
                    self._about, holds = (
                        replace(self._about, problems=(str(error),)),
                        ABOUT_AGAIN_SECONDS,
                    )
                self._holds_until = time.monotonic() + holds
            return self._about

    def _fresh(self) -> wire.About:
        try:
            return wire.about_from_json(
                self._ask("GET", wire.MODELS, wire.MAX_ABOUT_BYTES, seconds=ABOUT_SECONDS)
            )
        except ValueError as error:
            raise BackendError(_STRANGE) from error

    def _ask(
        self,
        method: str,
        path: str,
        most: int,
        body: bytes = b"",
        key: str = "",
        seconds: float | None = None,
    ) -> bytes:
        """The content of an answer of at most so many bytes; asked once more where the first was
        lost on the way.
        """
        headers = {"Content-Type": wire.JSON, "Accept-Encoding": "identity", wire.AFFINITY: key}
        request = {
            "data": body,
            "headers": headers,
            "timeout": (CONNECT_SECONDS, seconds or self._seconds),
        }
        try:
            try:
                return self._once(method, path, most, request)
            except _LOST as error:
                if isinstance(error, requests.Timeout):
                    raise
                log.warning(
                    "%s %s was lost (%s); it is sent once more", method, path, type(error).__name__
                )
                return self._once(method, path, most, request)
        except requests.Timeout as error:
            raise BackendError(
                f"The server of the models at {self._address} did not answer in time; your input is"
                " kept, try again later."
            ) from error
        except (requests.RequestException, _Broken) as error:
            raise BackendError(
                f"The server of the models at {self._address} cannot be reached or broke off; your"
                " input is kept, try again in a moment."
            ) from error

    def _once(self, method: str, path: str, most: int, request: Mapping[str, Any]) -> bytes:
        with self._http.request(
            method, self._address + path, stream=True, allow_redirects=False, **request
        ) as answer:
            content = bytearray()
            for chunk in answer.iter_content(_CHUNK):
                content += chunk
                if len(content) > most:
                    raise BackendError(_STRANGE)
            if answer.status_code != 200:
                raise _failure(answer.status_code, bytes(content))
            return bytes(content)


class _Broken(Exception):
    """A server in the middle says that nobody answered."""


_LOST = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, _Broken)
_STRANGE = (
    "The server of the models answered with something else than this app asks for; update both to"
    " one version."
)


def _failure(status: int, content: bytes) -> Exception:
    """What an answer that is none is raised as."""
    kind, sentence = wire.failure_from_json(content)
    if kind == "input":
        return InputError(sentence)
    if kind == "token":
        return BackendError(
            "The server of the models refuses the token; put its token into AREAVIZ_TOKEN_FILE."
        )
    if kind and kind != "busy":
        return BackendError(sentence)
    if status == _UNAVAILABLE:
        return Busy(
            sentence
            or "The models are busy: too many requests are waiting already; try again in a moment."
        )
    return _Broken(f"status {status}") if status >= _SERVER_ERROR else BackendError(_STRANGE)


@contextmanager
def _as_ours() -> Iterator[None]:
    """A damaged answer is no fault of the reader's input."""
    try:
        yield
    except InputError as error:
        raise BackendError(_STRANGE) from error

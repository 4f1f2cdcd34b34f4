"""The server of models without its network: a request comes in as bytes, a reply goes out as bytes.

Whatever listens (Ray Serve, a test's small server) hands every request to `Api.answer`, so that the
token is asked for, and sizes are limited, in one place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from areaviz.backend import wire
from areaviz.backend.access import is_token
from areaviz.backend.base import Backend
from areaviz.backend.cached import key_of
from areaviz.trace import codec
from areaviz.trace.errors import BackendError, Busy, InputError

log = logging.getLogger(__name__)
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back: HTTP status, type of the content, content."""

    status: int
    kind: str
    content: bytes

    @classmethod
    def failed(cls, kind: str, sentence: str) -> Reply:
        """A failure of a kind of `wire.FAILURES`."""
        return cls(wire.FAILURES[kind], wire.JSON, wire.failure_to_json(kind, sentence))


class Api:
    """Answers for a backend, which should remember traces (`CachedBackend`), to whoever has the
    token.

    digest: of the token; see `access.digest_of`.
    """

    def __init__(self, backend: Backend, digest: str) -> None:
        self._backend, self._digest = backend, digest
        self._routes: Mapping[str, tuple[str, Callable[[bytes], Reply]]] = {
            wire.MODELS: ("GET", self._about),
            wire.TRACE: ("POST", self._trace),
            wire.LAYER: ("POST", self._layer),
        }

    def refusal(self, method: str, path: str, authorization: str, length: int) -> Reply | None:
        """Why a request is not answered, known from its head alone; None where it is. length: of
        its body, in bytes.
        """
        given = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else ""
        if not is_token(given.strip(), self._digest):
            return Reply.failed("token", "This server wants its access token; name the right one.")
        if path not in self._routes:
            return Reply.failed(
                "route", f"There is no such place here; there are: {', '.join(self._routes)}."
            )
        if method != self._routes[path][0]:
            return Reply.failed(
                "method", f"{path} is asked with {self._routes[path][0]}; use that."
            )
        if length > wire.MAX_REQUEST_BYTES:
            return Reply.failed(
                "size",
                f"The request has {length:,} bytes but at most {wire.MAX_REQUEST_BYTES:,} are"
                " possible; send a shorter text or a smaller picture.",
            )
        return None

    def answer(self, method: str, path: str, authorization: str, body: bytes) -> Reply:
        """The reply to a request; never raises."""
        if refused := self.refusal(method, path, authorization, len(body)):
            return refused
        try:
            return self._routes[path][1](body)
        except InputError as error:
            return Reply.failed("input", str(error))
        except Busy as error:
            return Reply.failed("busy", str(error))
        except BackendError as error:
            return Reply.failed("backend", str(error))
        except Exception:
            log.exception("While answering %s", path)
            return Reply.failed(
                "server", "Something went wrong at the server of the models; its log says what."
            )

    def _about(self, _: bytes) -> Reply:
        return Reply(200, wire.JSON, wire.about_to_json(self._backend))

    def _trace(self, body: bytes) -> Reply:
        asked = wire.trace_from_json(body)
        found = self._backend.trace(asked.request, background=asked.background)
        return Reply(200, wire.NPZ, codec.to_bytes(found, without=wire.large_sites(found)))

    def _layer(self, body: bytes) -> Reply:
        """Runs the request again where this replica does not remember it: another one may have
        answered it.
        """
        asked = wire.layer_from_json(body)
        if asked.key != key_of(
            asked.request.checked(), self._backend.models().get(asked.request.model)
        ):
            raise BackendError("The model was exchanged since this was run; run it again.")
        attention = self._backend.trace(asked.request).maps.get(asked.site)
        if attention is None or not 0 <= asked.layer < attention.layers:
            raise InputError("This result has no such site or layer; choose one that it has.")
        return Reply(200, wire.NPZ, codec.layer_to_bytes(attention.weights[asked.layer]))

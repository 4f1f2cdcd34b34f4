"""The model server without its network, and its OpenAPI description.

`Api.answer` takes the bytes of a request and returns those of a reply.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from areaviz import __version__
from areaviz.backend import wire
from areaviz.backend.access import is_token
from areaviz.backend.backend import Backend, Explaining, make_cache_key
from areaviz.trace import file
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.file import logits_to_bytes

# The model server without its network. It takes a request as bytes and returns a reply as bytes.
#
# Every server that listens on a port (Ray Serve, or the small server of a test) passes all requests
# to `Api.answer`. The token and the sizes are therefore checked in one place.


log = logging.getLogger(__name__)

ROUTES: Mapping[str, str] = {
    wire.MODELS: "GET",
    wire.TRACE: "POST",
    wire.LAYER: "POST",
    wire.LOGITS: "POST",
}
"""All paths with their HTTP method. docs/openapi.json is generated from this table."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: HTTP status, content type and content."""

    status: int
    kind: str
    content: bytes

    @classmethod
    def failed(cls, kind: str, sentence: str) -> Reply:
        """Return the reply for a failure.

        Args:
            kind: a key of `wire.FAILURES`.
            sentence: what is wrong and what to do.
        """
        return cls(wire.FAILURES[kind], wire.JSON, wire.failure_to_json(kind, sentence))


class Api:
    """Answers clients that have the token.

    Args:
        backend: runs the models. It should cache traces (`CachedBackend`).
        digest: digest of the token, see `access.compute_digest`.
    """

    def __init__(self, backend: Backend, digest: str) -> None:
        self._backend, self._digest = backend, digest
        self._answers: Mapping[str, Callable[[bytes], Reply]] = {
            wire.MODELS: self._about,
            wire.TRACE: self._trace,
            wire.LAYER: self._layer,
            wire.LOGITS: self._logits,
        }

    def refusal(self, method: str, path: str, authorization: str, length: int) -> Reply | None:
        """Return a refusal if the head of a request is invalid, or None.

        Args:
            method: the HTTP method.
            path: the path.
            authorization: the header "Authorization".
            length: size of the body in bytes.
        """
        # Check the token first, so that a client without it cannot discover the routes.
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not is_token(token.strip(), self._digest):
            return Reply.failed(
                "token", ("This server requires an access token. Give a valid token.")
            )
        if path not in ROUTES:
            known = ", ".join(ROUTES)
            return Reply.failed("route", f"This path does not exist. The paths are: {known}.")
        expected = ROUTES[path]
        if method != expected:
            return Reply.failed(
                "method", (f"{path} expects the method {expected}. Use that method.")
            )
        if length > wire.MAX_REQUEST_BYTES:
            return Reply.failed(
                "size",
                f"The request has {length:,} bytes, but the limit is {wire.MAX_REQUEST_BYTES:,}."
                " Send a shorter text or a smaller picture.",
            )
        return None

    def answer(self, method: str, path: str, authorization: str, body: bytes) -> Reply:
        """Return the reply to a request. Errors become replies."""
        if refused := self.refusal(method, path, authorization, len(body)):
            return refused
        try:
            return self._answers[path](body)
        except InputError as error:
            return Reply.failed("input", str(error))
        except BackendBusy as error:
            return Reply.failed("busy", str(error))
        except BackendError as error:
            return Reply.failed("backend", str(error))
        except Exception:
            log.exception("While answering %s", path)
            return Reply.failed("server", "The model server failed. See its log for the reason.")

    def _about(self, _: bytes) -> Reply:
        return Reply(200, wire.JSON, wire.encode_description(self._backend))

    def _trace(self, body: bytes) -> Reply:
        message = wire.trace_from_json(body)
        trace = self._backend.trace(message.request, caller=message.caller)
        return Reply(
            200, wire.NPZ, file.trace_to_bytes(trace, without=wire.list_large_sites(trace))
        )

    def _layer(self, body: bytes) -> Reply:
        """Return the weights of a layer.

        The request runs again if another replica made the trace.
        """
        message = self._about_layer(body)
        attention = self._backend.trace(message.request, caller=message.caller).maps.get(
            message.site
        )
        if attention is None or not 0 <= message.layer < attention.layers:
            raise InputError("This result does not have that site or layer. Choose another one.")
        return Reply(200, wire.NPZ, file.layer_to_bytes(attention.weights[message.layer]))

    def _logits(self, body: bytes) -> Reply:
        """Return the terms of a layer's logits.

        The request runs again because these terms are not stored.
        """
        message = self._about_layer(body)
        if not isinstance(self._backend, Explaining):
            raise InputError("This server cannot explain weights. Update it.")
        found = self._backend.logits(
            message.request, message.site, message.layer, caller=message.caller
        )
        return Reply(200, wire.NPZ, logits_to_bytes(found))

    def _about_layer(self, body: bytes) -> wire.LayerMessage:
        """Decode a request about a layer, and check that the current model made its trace."""
        message = wire.layer_from_json(body)
        # The key depends on the model's card. Layers of different models must not get into one
        # trace.
        card = self._backend.models().get(message.request.model)
        if message.key != make_cache_key(message.request.checked(), card):
            raise BackendError("The model changed after this run. Run it again.")
        return message


# An OpenAPI 3.1 description of the model server, generated from its routes.
#
# python -m areaviz.backend.server > docs/openapi.json


Json = dict[str, Any]

_SUMMARIES: Mapping[str, str] = {
    wire.MODELS: "Return the cards of all models, the problems of those that cannot be loaded and"
    " the device.",
    wire.TRACE: (
        "Run a request and return its trace. Maps of more than 1 MiB are sent without weights."
    ),
    wire.LAYER: "Return the weights of one layer of a map, float32 [heads, queries, areas].",
    wire.LOGITS: "Return the terms that the logits of one layer consist of.",
}
_REQUEST: Json = {
    "type": "object",
    "description": "A request to a model. docs/trace.md describes its entries.",
    "required": ["model", "text"],
    "properties": {"model": {"type": "string"}, "text": {"type": "string"}},
}
_CALLER: Json = {
    "background": {"type": "boolean", "description": "Whether the request belongs to an analysis."},
    "visitor": {"description": "The reader who waits. Readers of an app get turns."},
}
_LAYER_BODY: Json = {
    "type": "object",
    "required": ["request", "key", "site", "layer"],
    "properties": {
        "request": _REQUEST,
        "key": {"type": "string", "description": "The key of the trace."},
        "site": {"type": "string", "examples": ["encoder self"]},
        "layer": {"type": "integer", "minimum": 0},
        **_CALLER,
    },
}
_BODIES: Mapping[str, Json] = {
    wire.TRACE: {
        "type": "object",
        "required": ["request"],
        "properties": {"request": _REQUEST, **_CALLER},
    },
    wire.LAYER: _LAYER_BODY,
    wire.LOGITS: _LAYER_BODY,
}
_ABOUT: Json = {
    "type": "object",
    "required": ["models", "problems", "device"],
    "properties": {
        "models": {"type": "array", "items": {"type": "object"}},
        "problems": {"type": "array", "items": {"type": "string"}},
        "device": {"type": "string"},
    },
}


def describe_api() -> Json:
    """Return the OpenAPI description of all routes, with their bodies, replies and failures."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "areaviz model server", "version": __version__},
        "paths": {path: {method.lower(): _describe_route(path)} for path, method in ROUTES.items()},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Failure": _describe_failure()},
        },
    }


def _describe_route(path: str) -> Json:
    body = _BODIES.get(path)
    content: Json = {wire.JSON: {"schema": _ABOUT}} if body is None else {wire.NPZ: {}}
    route: Json = {
        "operationId": path.removeprefix("/"),
        "summary": _SUMMARIES[path],
        "responses": {
            "200": {"description": "The answer.", "content": content},
            **_describe_failures(),
        },
    }
    if body is not None:
        route["requestBody"] = {"required": True, "content": {wire.JSON: {"schema": body}}}
    return route


def _describe_failures() -> Json:
    """Return the failures of every route by their HTTP status."""
    kinds: dict[str, list[str]] = {}
    for kind, status in wire.FAILURES.items():
        kinds.setdefault(str(status), []).append(kind)
    schema = {"$ref": "#/components/schemas/Failure"}
    return {
        status: {
            "description": f"The error is {' or '.join(names)}.",
            "content": {wire.JSON: {"schema": schema}},
        }
        for status, names in sorted(kinds.items())
    }


def _describe_failure() -> Json:
    return {
        "type": "object",
        "required": ["error", "sentence"],
        "properties": {
            "error": {"enum": sorted(wire.FAILURES)},
            "sentence": {"type": "string", "description": "What is wrong and what to do."},
        },
    }


def make_api_text() -> str:
    """Return the description as the text of a file."""
    return json.dumps(describe_api(), indent=2) + "\n"


if __name__ == "__main__":
    print(make_api_text(), end="")

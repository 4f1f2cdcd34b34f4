"""An OpenAPI 3.1 description of the model server, generated from its routes.

python -m areaviz.server.openapi > docs/openapi.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from areaviz import __version__
from areaviz.backend import wire
from areaviz.server.api import ROUTES

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

"""docs/openapi.json describes the answers of the server of models."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from areaviz.backend import wire
from areaviz.backend.access import compute_digest
from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.backend.server import ROUTES, Api, describe_api, make_api_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"
TOKEN = "t" * 32


def schema_of(path: str, *keys: str) -> object:
    found: object = describe_api()["paths"][path][ROUTES[path].lower()]
    for key in (*keys, "content", wire.JSON, "schema"):
        assert isinstance(found, dict)
        found = found[key]
    return found


def test_stored_schema_matches_the_routes() -> None:
    command = "python -m areaviz.backend.server > docs/openapi.json"
    assert FILE.read_text(encoding="utf-8") == make_api_text(), f"run: {command}"


def test_schema_describes_exactly_the_routes() -> None:
    described = json.loads(FILE.read_text(encoding="utf-8"))["paths"]
    assert {path: {method.lower()} for path, method in ROUTES.items()} == {
        path: set(methods) for path, methods in described.items()
    }


def test_client_bodies_match_the_schema() -> None:
    request = Request("fake", "A dog.")
    bodies = {
        wire.TRACE: wire.trace_to_json(wire.TraceMessage(request)),
        wire.LAYER: wire.layer_to_json(wire.LayerMessage(request, "key", "encoder self", 0)),
    }
    for path, body in bodies.items():
        jsonschema.validate(json.loads(body), schema_of(path, "requestBody"))


class Silent(fakes.FakeBackend):
    """A backend that may only be asked for its models."""

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        raise AssertionError("no trace is asked for")


@pytest.mark.parametrize("path", [wire.MODELS, "/nowhere"])
def test_answers_match_the_schema(path: str) -> None:
    reply = Api(Silent(), compute_digest(TOKEN)).answer("GET", path, f"Bearer {TOKEN}", b"")
    if reply.status == 200:
        jsonschema.validate(json.loads(reply.content), schema_of(path, "responses", "200"))
        return
    failure = describe_api()["components"]["schemas"]["Failure"]
    jsonschema.validate(json.loads(reply.content), failure)
    responses = describe_api()["paths"][wire.MODELS]["get"]["responses"]
    assert str(reply.status) in responses

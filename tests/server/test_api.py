"""The server of models without a network: token, limits, and a clear error for every failure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.backend import wire
from areaviz.backend.access import compute_digest
from areaviz.backend.backend import Caller
from areaviz.backend.server import ROUTES as api_routes
from areaviz.backend.server import Api
from areaviz.shares import Visitor
from areaviz.trace import file
from areaviz.trace.request import Request
from tests import fakes
from tests.server.models import TOKEN, FakeModels

ROUTES = [
    ("GET", wire.MODELS),
    ("POST", wire.TRACE),
    ("POST", wire.LAYER),
    ("POST", wire.LOGITS),
]
BEARER = f"Bearer {TOKEN}"
ASKED = Request("char-area", "A dog runs.")


@pytest.fixture
def models() -> FakeModels:
    return FakeModels()


@pytest.fixture
def api(models: FakeModels) -> Api:
    return Api(models, compute_digest(TOKEN))


def test_every_route_has_a_test() -> None:
    assert {path: method for method, path in ROUTES} == api_routes


@pytest.mark.parametrize(
    ("method", "path"), [*ROUTES, ("GET", "/"), ("GET", "/docs"), ("DELETE", wire.MODELS)]
)
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN.upper()}",
    ],
)
def test_missing_token_is_refused_before_any_run(
    api: Api, models: FakeModels, method: str, path: str, authorization: str
) -> None:
    reply = api.answer(method, path, authorization, wire.trace_to_json(wire.TraceMessage(ASKED)))
    assert reply.status == 401 and models.asked == []
    assert wire.failure_from_json(reply.content) == (
        "token",
        "This server requires an access token. Give a valid token.",
    )


@given(st.text(max_size=40))
def test_wrong_tokens_are_refused(given: str) -> None:
    assert (
        Api(FakeModels(), compute_digest(TOKEN)).answer("GET", wire.MODELS, given, b"").status
        == 401
    )


def test_routes_answer_with_the_token(api: Api) -> None:
    assert (
        wire.decode_description(api.answer("GET", wire.MODELS, BEARER, b"").content).device
        == "made-up device"
    )
    reply = api.answer("POST", wire.TRACE, BEARER, wire.trace_to_json(wire.TraceMessage(ASKED)))
    assert (reply.status, reply.kind) == (200, wire.NPZ) and file.trace_from_bytes(
        reply.content
    ).request == ASKED
    assert api.answer("GET", wire.MODELS, f"bearer {TOKEN}", b"").status == 200, (
        "the scheme has no case (RFC 9110)"
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/models/", 404),
        ("GET", "/../models", 404),
        ("POST", wire.MODELS, 405),
        ("GET", wire.TRACE, 405),
    ],
)
def test_unknown_routes_and_methods_are_refused(
    api: Api, method: str, path: str, status: int
) -> None:
    assert api.answer(method, path, BEARER, b"").status == status


def test_too_large_request_is_refused_by_its_header(api: Api) -> None:
    assert api.refusal("POST", wire.TRACE, BEARER, wire.MAX_REQUEST_BYTES) is None
    refused = api.refusal("POST", wire.TRACE, BEARER, wire.MAX_REQUEST_BYTES + 1)
    assert (
        refused is not None
        and refused.status == 413
        and b"the limit is 4,194,304" in refused.content
    )


def test_largest_request_fits() -> None:
    largest = Request("m" * 100, "\U0001f642" * 4096, picture=fakes.picture("p" * 60, 640, 640))
    assert len(wire.trace_to_json(wire.TraceMessage(largest))) < wire.MAX_REQUEST_BYTES


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("refuse", 400, "input"),
        ("fail", 503, "backend"),
        ("crash", 500, "server"),
        (" ", 400, "input"),
    ],
)
def test_failures_have_a_kind_and_a_message(api: Api, text: str, status: int, kind: str) -> None:
    reply = api.answer(
        "POST",
        wire.TRACE,
        BEARER,
        wire.trace_to_json(wire.TraceMessage(Request("char-area", text))),
    )
    found, sentence = wire.failure_from_json(reply.content)
    assert (
        (reply.status, found) == (status, kind)
        and sentence.endswith(".")
        and "secret" not in sentence
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\x80\x04.",
        b"[" * 100_000,
        b'{"request": 3}',
        b'{"request": {}, "pixels": null}',
        b'{"request": {"model": "char-area", "text": 3}}',
    ],
)
@pytest.mark.parametrize("path", [wire.TRACE, wire.LAYER, wire.LOGITS])
def test_invalid_bodies_are_refused(api: Api, models: FakeModels, path: str, body: bytes) -> None:
    reply = api.answer("POST", path, BEARER, body)
    assert wire.failure_from_json(reply.content)[0] == "input" and models.asked == []


@pytest.mark.parametrize(
    "pixels",
    [
        {"width": 10**9, "height": 10**9, "rgb": ""},
        {"width": 2, "height": 2, "rgb": "AAAA"},
        {"width": 2, "height": 2, "rgb": "***"},
        {"width": -1, "height": 2, "rgb": ""},
        {"width": True, "height": 2, "rgb": ""},
        "a path",
        3,
    ],
)
def test_invalid_pictures_are_refused(api: Api, models: FakeModels, pixels: object) -> None:
    asked = json.loads(
        wire.trace_to_json(wire.TraceMessage(Request("char-area", "", picture=fakes.picture())))
    )
    reply = api.answer("POST", wire.TRACE, BEARER, json.dumps({**asked, "pixels": pixels}).encode())
    assert wire.failure_from_json(reply.content)[0] == "input" and models.asked == []


@pytest.mark.parametrize(
    ("site", "layer"),
    [("does not have that site", 0), ("encoder self", 2), ("encoder self", -1), ("../x", 0)],
)
def test_missing_layers_are_refused(api: Api, models: FakeModels, site: str, layer: int) -> None:
    from areaviz.backend.backend import make_cache_key

    asked = wire.LayerMessage(ASKED, make_cache_key(ASKED, models.cards["char-area"]), site, layer)
    reply = api.answer("POST", wire.LAYER, BEARER, wire.layer_to_json(asked))
    assert wire.failure_from_json(reply.content)[0] == "input"


@given(
    st.builds(
        Request,
        model=st.text(max_size=20),
        text=st.text(max_size=60),
        method=st.text(max_size=8),
        beam=st.integers(),
        area_size=st.none() | st.integers(),
        seed=st.integers(0, 2**63),
        picture=st.none()
        | st.builds(fakes.picture, width=st.integers(1, 9), height=st.integers(1, 9)),
        sample=st.booleans(),
    )
)
def test_request_survives_the_wire(request: Request) -> None:
    for caller in (Caller(), Caller(in_background=True), Caller(Visitor("mark", "net"))):
        trace_asked = wire.TraceMessage(request, caller)
        assert wire.trace_from_json(wire.trace_to_json(trace_asked)) == trace_asked
    asked = wire.LayerMessage(request, "key", "site", 3, Caller(Visitor("mark")))
    assert wire.layer_from_json(wire.layer_to_json(asked)) == asked


def test_request_without_priority_counts_as_user(api: Api, models: FakeModels) -> None:
    entries = json.loads(wire.trace_to_json(wire.TraceMessage(ASKED, Caller(in_background=True))))
    for told in ({}, {"background": "yes"}, {"background": 1}, {"background": True}):
        body = json.dumps({**{key: entries[key] for key in ("request", "pixels")}, **told})
        assert api.answer("POST", wire.TRACE, BEARER, body.encode()).status == 200
    assert models.in_background == [False, False, False, True]

"""The messages between the app and a model server, as JSON and npz, never pickle.

    GET  /models                                          -> JSON: cards, problems, device
    POST /trace   JSON: request, background, visitor      -> npz: trace, large maps without weights
    POST /layer   JSON: request, key, site, layer         -> npz: weights [heads, queries, areas]
    POST /logits  JSON: as /layer                         -> npz: the terms of the layer's logits

"background" is true for requests of analyses. "visitor" is a list of two marks, one of the user and
one of the network address, by which the server lets users take turns. The marks are keyed digests,
so they do not reveal the user or the address. Messages of older apps have neither entry. Every
route requires the header "Authorization: Bearer TOKEN". A failure is JSON: "error", one of
`FAILURES`, and "sentence".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.cards.card import Card, parse_card
from areaviz.shares import Visitor
from areaviz.trace.document import read_request, request_entry
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import MEDIA, Medium, Request, take

MODELS, TRACE, LAYER, LOGITS = "/models", "/trace", "/layer", "/logits"
JSON, NPZ = "application/json", "application/zip"

# Header with the trace's key: requests with equal keys go to one replica, which has the trace.
AFFINITY = "X-Session-Id"

# A request with the largest picture has 1.6 MiB.
MAX_REQUEST_BYTES = 4 * 2**20
MAX_ABOUT_BYTES = 8 * 2**20
MAX_MARK = 64

# Larger maps are sent without their weights.
INLINE_BYTES = 2**20

# The entry with the content of a picture, a sound or a clip, by the name of the request's field.
CONTENTS = {"picture": "pixels", "sound": "samples", "clip": "frames"}

# Kinds of failure, and their HTTP status.
FAILURES = {
    "input": 400,
    "token": 401,
    "route": 404,
    "method": 405,
    "size": 413,
    "server": 500,
    "backend": 503,
    "busy": 503,
}


@dataclass(frozen=True, slots=True)
class ServerDescription:
    """A server's answer to /models: the three descriptions of a `Backend`."""

    models: dict[str, Card]
    problems: tuple[str, ...]
    device: str


@dataclass(frozen=True, slots=True)
class TraceMessage:
    """The body of /trace.

    Args:
        request: the request.
        caller: the caller. Its visitor has marks instead of the user's id and address.
    """

    request: Request
    caller: Caller = OWN_WORK


@dataclass(frozen=True, slots=True)
class LayerMessage:
    """The body of /layer and /logits: one layer of one site of a trace.

    Args:
        request: the request of the trace, for replicas that no longer have the trace.
        key: the key of the trace, see `make_cache_key`.
        site: the name of the attention map.
        layer: 0-based.
        caller: as in `TraceMessage`.
    """

    request: Request
    key: str
    site: str
    layer: int
    caller: Caller = OWN_WORK


def encode_description(backend: Backend) -> bytes:
    """Encode the descriptions of a backend."""
    cards = [card.entries for card in backend.models().values()]
    return _dump_json({"models": cards, "problems": backend.problems(), "device": backend.device()})


def decode_description(content: bytes) -> ServerDescription:
    """Decode the descriptions of a server.

    Raises:
        ValueError: if they are damaged.
    """
    entries = _load_json(content)
    models, problems = (take(entries, key, list) for key in ("models", "problems"))
    cards = [parse_card(entry) for entry in models]
    return ServerDescription(
        {card.name: card for card in cards}, tuple(map(str, problems)), take(entries, "device", str)
    )


def trace_to_json(message: TraceMessage) -> bytes:
    """Encode a message for /trace, with its input data."""
    return _dump_json(_request_entries(message.request) | _encode_caller(message.caller))


def trace_from_json(content: bytes) -> TraceMessage:
    """Decode a message for /trace. Its request is not yet checked.

    Raises:
        InputError: if the message is damaged.
    """
    with _raise_input_errors():
        entries = _load_untrusted(content)
        return TraceMessage(_decode_request(entries), _decode_caller(entries))


def layer_to_json(message: LayerMessage) -> bytes:
    """Encode a message for /layer or /logits."""
    where = {"key": message.key, "site": message.site, "layer": message.layer}
    return _dump_json(_request_entries(message.request) | where | _encode_caller(message.caller))


def layer_from_json(content: bytes) -> LayerMessage:
    """Decode a message for /layer or /logits. Its request is not yet checked.

    Raises:
        InputError: if the message is damaged.
    """
    with _raise_input_errors():
        entries = _load_untrusted(content)
        return LayerMessage(
            _decode_request(entries),
            take(entries, "key", str),
            take(entries, "site", str),
            take(entries, "layer", int),
            _decode_caller(entries),
        )


def failure_to_json(kind: str, sentence: str) -> bytes:
    """Encode a failure with its message."""
    return _dump_json({"error": kind, "sentence": sentence})


def failure_from_json(content: bytes) -> tuple[str, str]:
    """Decode the kind of a failure and its message, or ("", "") for any other content."""
    try:
        entries = _load_json(content)
        kind, sentence = take(entries, "error", str), take(entries, "sentence", str)
    except (ValueError, RecursionError):
        return "", ""
    return (kind, sentence) if kind in FAILURES else ("", "")


def list_large_sites(trace: Trace) -> Collection[str]:
    """Return the sites whose weights are fetched on demand."""
    return [site for site, found in trace.maps.items() if found.weights.nbytes > INLINE_BYTES]


def _encode_caller(caller: Caller) -> dict[str, Any]:
    visitor = caller.visitor
    marks = None if visitor is None else [visitor.reader, visitor.address]
    return {"background": caller.in_background, "visitor": marks}


def _decode_caller(entries: dict[str, Any]) -> Caller:
    """Decode the caller. A message without these entries comes from an older app."""
    in_background = entries.get("background") is True
    match entries.get("visitor"):
        case [str(reader), str(address)] if max(len(reader), len(address)) <= MAX_MARK:
            return Caller(Visitor(reader, address), in_background)
    return Caller(in_background=in_background)


def _request_entries(request: Request) -> dict[str, Any]:
    entries: dict[str, Any] = {"request": request_entry(request), CONTENTS["picture"]: None}
    for name, medium in request.media.items():
        text = base64.b64encode(medium.content).decode("ascii")
        sizes = {size: getattr(medium, size) for size in medium.sizes}
        entries[CONTENTS[name]] = {**sizes, "rgb": text} if sizes else text
    return entries


def _decode_request(entries: dict[str, Any]) -> Request:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, key in CONTENTS.items():
        if entries.get(key) is not None:
            arrays[f"request.{name}"] = _decode_array(MEDIA[name], entries[key])
    return read_request(take(entries, "request", dict), arrays)


def _decode_array(medium: type[Medium], entry: Any) -> np.ndarray[Any, Any]:
    sizes = [take(entry, size, int) for size in medium.sizes]
    # A negative size would match an array of any size.
    if min(sizes, default=1) < 1:
        raise ValueError(f"a {medium.noun} without pixels")
    text = take(entry, "rgb", str) if sizes else take({"samples": entry}, "samples", str)
    return medium.unpacked(base64.b64decode(text, validate=True), sizes)


@contextmanager
def _raise_input_errors() -> Iterator[None]:
    """Raise an InputError for errors in an untrusted message."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"The request is damaged ({str(error)[:200]}). Send it again.") from error


def _load_untrusted(content: bytes) -> dict[str, Any]:
    try:
        return _load_json(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "The request body is not valid JSON for this server. Send it again."
        ) from error


def _dump_json(entries: dict[str, Any]) -> bytes:
    return json.dumps(entries, separators=(",", ":")).encode("ascii")


def _load_json(content: bytes) -> dict[str, Any]:
    entries = json.loads(content)
    if not isinstance(entries, dict):
        raise ValueError("it holds no entries")
    return entries

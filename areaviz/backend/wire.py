"""What goes over the network between the app and a server of models: JSON and npz, never pickle.

    GET  /models                                        -> JSON: cards, problems, device
    POST /trace   JSON: request, background             -> npz: the trace, without the weights of
    large maps POST /layer   JSON: request, key, site, layer       -> npz: weights [heads, queries,
    areas] of one layer

"background" says that no reader waits for the answer. Who does not know it leaves it out, or does
not look at it.

Every route wants the header "Authorization: Bearer TOKEN". What fails is JSON: "error", one of
`FAILURES`, and a "sentence".
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from areaviz.backend.base import Backend
from areaviz.cards.card import Card, card_of
from areaviz.trace.document import read_request, request_entry
from areaviz.trace.errors import InputError
from areaviz.trace.picture import MAX_SIDE
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

MODELS, TRACE, LAYER = "/models", "/trace", "/layer"
JSON, NPZ = "application/json", "application/zip"
AFFINITY = "X-Session-Id"
"""Header with the trace's key: requests with an equal one are led to one replica, which still has
the trace.
"""
MAX_REQUEST_BYTES = 4 * 2**20
"""A request of the largest picture has 1.6 MiB."""
MAX_ABOUT_BYTES = 8 * 2**20
INLINE_BYTES = 2**20
"""Maps of more bytes travel without their weights."""
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
"""Kinds of failure, and their HTTP status."""


@dataclass(frozen=True, slots=True)
class About:
    """What a server of models says of itself; the three descriptions of `Backend`."""

    models: dict[str, Card]
    problems: tuple[str, ...]
    device: str


@dataclass(frozen=True, slots=True)
class TraceAsked:
    """A request to run. background: as in `Backend.trace`."""

    request: Request
    background: bool = False


@dataclass(frozen=True, slots=True)
class LayerAsked:
    """One layer of one site of the trace of a request; `key` tells the trace, see
    `cached.key_of`.
    """

    request: Request
    key: str
    site: str
    layer: int


def about_to_json(backend: Backend) -> bytes:
    """The descriptions of a backend."""
    cards = [asdict(card) for card in backend.models().values()]
    return _dumps({"models": cards, "problems": backend.problems(), "device": backend.device()})


def about_from_json(content: bytes) -> About:
    """Read them; raises ValueError."""
    entries = _loads(content)
    cards = [card_of(entry) for entry in _typed(entries, "models", list)]
    problems = tuple(str(one) for one in _typed(entries, "problems", list))
    return About({card.name: card for card in cards}, problems, _typed(entries, "device", str))


def trace_to_json(asked: TraceAsked) -> bytes:
    """A question for a trace, with its picture's pixels."""
    return _dumps({**_request_entries(asked.request), "background": asked.background})


def trace_from_json(content: bytes) -> TraceAsked:
    """Read it, the request not yet checked; raises InputError."""
    entries = _strange(content)
    return TraceAsked(_request(entries), entries.get("background") is True)


def layer_to_json(asked: LayerAsked) -> bytes:
    """A question for one layer."""
    return _dumps(
        {
            **_request_entries(asked.request),
            "key": asked.key,
            "site": asked.site,
            "layer": asked.layer,
        }
    )


def layer_from_json(content: bytes) -> LayerAsked:
    """Read it; raises InputError."""
    entries = _strange(content)
    try:
        key, site, layer = (
            _typed(entries, "key", str),
            _typed(entries, "site", str),
            _typed(entries, "layer", int),
        )
    except ValueError as error:
        raise InputError(f"The request is damaged ({error}); send it again.") from error
    return LayerAsked(_request(entries), key, site, layer)


def failure_to_json(kind: str, sentence: str) -> bytes:
    """What failed, in one sentence."""
    return _dumps({"error": kind, "sentence": sentence})


def failure_from_json(content: bytes) -> tuple[str, str]:
    """Its kind and sentence, ("", "") where somebody else answered."""
    try:
        entries = _loads(content)
        kind, sentence = _typed(entries, "error", str), _typed(entries, "sentence", str)
    except (ValueError, RecursionError):
        return "", ""
    return (kind, sentence) if kind in FAILURES else ("", "")


def large_sites(trace: Trace, most: int = INLINE_BYTES) -> Collection[str]:
    """The sites whose weights are fetched on demand."""
    return [site for site, attention in trace.maps.items() if attention.weights.nbytes > most]


def _request_entries(request: Request) -> dict[str, Any]:
    picture = request.picture
    pixels = picture and {
        "width": picture.width,
        "height": picture.height,
        "rgb": base64.b64encode(picture.rgb).decode("ascii"),
    }
    return {"request": request_entry(request), "pixels": pixels}


def _request(entries: dict[str, Any]) -> Request:
    try:
        arrays = (
            {"request.picture": _pixels(entries["pixels"])}
            if entries.get("pixels") is not None
            else {}
        )
        return read_request(_typed(entries, "request", dict), arrays)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"The request is damaged ({str(error)[:200]}); send it again.") from error


def _pixels(entry: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    width, height = _typed(entry, "width", int), _typed(entry, "height", int)
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise ValueError(f"a picture of {width} x {height} pixels")
    try:
        rgb = base64.b64decode(_typed(entry, "rgb", str), validate=True)
    except binascii.Error as error:
        raise ValueError(f"a picture's pixels: {error}") from error
    return np.frombuffer(rgb, np.uint8).reshape(height, width, 3)


def _strange(content: bytes) -> dict[str, Any]:
    """JSON of a stranger; raises InputError."""
    try:
        return _loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError("The request is no JSON of this app; send it again.") from error


def _dumps(entries: dict[str, Any]) -> bytes:
    return json.dumps(entries, separators=(",", ":")).encode("ascii")


def _loads(content: bytes) -> dict[str, Any]:
    entries = json.loads(content)
    if not isinstance(entries, dict):
        raise ValueError("it holds no entries")
    return entries


def _typed(entries: Any, key: str, kind: type[Any]) -> Any:
    value = entries.get(key) if isinstance(entries, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f'"{key}" is missing or no {kind.__name__}')
    return value

"""A trace as a JSON document and plain arrays, and back. The format is specified in
docs/trace.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import from_text, to_text
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.picture import Picture, check_picture
from areaviz.trace.record import VERSION, AttentionMap, Field, FloatArray, Gaze, Output, Trace
from areaviz.trace.request import Request

FORMAT = "areaviz trace"
MOST_LAYERS, MOST_HEADS = 1024, 1024

Arrays = Mapping[str, npt.NDArray[Any]]
Fetch = Callable[[str, int], FloatArray]
"""Gets the weights of a site and layer, float32 [H, Q, A], from where they lie."""
_Value = TypeVar("_Value")


def to_arrays(trace: Trace, without: Collection[str] = ()) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a trace by name; weights that lie elsewhere stay there.

    without: sites whose weights are left out.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"output.probabilities": trace.output.probabilities}
    arrays |= {f"field.{name}.anchors": item.anchors for name, item in trace.fields.items()}
    whole = {site: item for site, item in trace.maps.items() if site not in without}
    arrays |= {f"map.{site}.weights": item.weights for site, item in whole.items()}
    arrays |= {
        f"map.{site}.chosen": item.chosen
        for site, item in trace.maps.items()
        if item.chosen is not None
    }
    arrays |= {
        f"map.{site}.strength": item.strength
        for site, item in trace.maps.items()
        if item.strength is not None
    }
    for site, gaze in trace.gazes.items():
        arrays |= {f"gaze.{site}.corners": gaze.corners, f"gaze.{site}.seen": gaze.seen}
    if trace.request.picture is not None:
        arrays["request.picture"] = trace.request.picture.pixels
    return {
        name: array if isinstance(array, LayeredWeights) else np.ascontiguousarray(array)
        for name, array in arrays.items()
    }


def to_document(trace: Trace, without: Collection[str] = ()) -> dict[str, Any]:
    """Everything in a trace that is no array, ready for JSON. A map `without` its weights tells
    their shape instead.
    """
    fields = [
        {"name": f.name, "kind": f.kind, "raw": f.raw, "labels": f.labels}
        for f in trace.fields.values()
    ]
    maps = [
        {name: getattr(m, name) for name in ("site", "query", "memory", "normalisation", "derived")}
        | {"grid": asdict(m.grid)}
        | ({"shape": m.weights.shape} if m.site in without else {})
        for m in trace.maps.values()
    ]
    return {
        "format": FORMAT,
        "version": trace.version,
        "request": request_entry(trace.request),
        "fields": fields,
        "output": {"field": trace.output.field, "alternatives": trace.output.alternatives},
        "maps": maps,
        "gazes": [
            {"site": g.site, "query": g.query, "memory": g.memory} for g in trace.gazes.values()
        ],
        "details": dict(trace.details),
    }


def request_entry(request: Request) -> dict[str, Any]:
    """A request without its pixels, which are an array."""
    name = None if request.picture is None else request.picture.name
    return {
        **asdict(replace(request, picture=None)),
        "picture": name,
        "changes": to_text(request.changes),
    }


def from_document(document: Any, arrays: Arrays, fetch: Fetch | None = None) -> Trace:
    """Put a trace together again; `areaviz.trace.check.validate` then tells whether its parts
    agree.

    fetch: gets what weights were left out, when they are first read; without it none may be.

    Raises:
        InputError: it is no trace or of a newer version.
        Exception: of any kind where the document is not as specified.
    """
    _check_version(document)
    for version, upgrade in enumerate((_from_version_1, _from_version_2), start=1):
        if document["version"] == version:
            document = upgrade(document)
    fields = [_field(entry, arrays) for entry in _take(document, "fields", list)]
    maps = [_map(entry, arrays, fetch) for entry in _take(document, "maps", list)]
    gazes = [_gaze(entry, arrays) for entry in _take(document, "gazes", list)]
    details = _take(document, "details", dict)
    return Trace(
        request=read_request(_take(document, "request", dict), arrays),
        fields={entry.name: entry for entry in fields},
        output=_output(_take(document, "output", dict), arrays),
        maps={entry.site: entry for entry in maps},
        details={name: _take(details, name, str) for name in details},
        gazes={entry.site: entry for entry in gazes},
    )


def _from_version_1(document: Mapping[str, Any]) -> dict[str, Any]:
    """Version 1 knew no pictures, no sampling and no gazes."""
    request = {**_take(dict(document), "request", dict), "picture": None, "sample": False}
    return {**document, "version": 2, "request": request, "gazes": []}


def _from_version_2(document: Mapping[str, Any]) -> dict[str, Any]:
    """Version 2 knew no given output and no changes."""
    request = {**_take(dict(document), "request", dict), "target": None, "changes": ""}
    return {**document, "version": 3, "request": request}


def _check_version(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(
            "The file is an archive but no trace; choose a trace that this app has saved."
        )
    version = _take(document, "version", int)
    if version > VERSION:
        raise InputError(
            f"The trace has version {version} but this app reads versions up to {VERSION}; update"
            " the app to open it."
        )
    if version < 1:
        raise ValueError(f"version {version} does not exist")


def read_request(entry: Mapping[str, Any], arrays: Arrays) -> Request:
    """A request of an entry and, for one with a picture, the array "request.picture"; raises as
    `from_document`.
    """
    model, text, method = (_take(entry, key, str) for key in ("model", "text", "method"))
    area_size = None if entry["area_size"] is None else _take(entry, "area_size", int)
    picture = (
        None
        if entry["picture"] is None
        else _picture(_take(entry, "picture", str), arrays["request.picture"])
    )
    beam, seed = _take(entry, "beam", int), _take(entry, "seed", int)
    target = None if entry["target"] is None else _take(entry, "target", str)
    changes = from_text(_take(entry, "changes", str))
    return Request(
        model,
        text,
        method,
        beam,
        area_size,
        seed,
        picture,
        entry["sample"] is True,
        target,
        changes,
    )


def _picture(name: str, pixels: npt.NDArray[Any]) -> Picture:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError("the picture is no array of red, green and blue bytes")
    picture = Picture.of(name, pixels)
    check_picture(picture)
    return picture


def _gaze(entry: Mapping[str, Any], arrays: Arrays) -> Gaze:
    site, query, memory = (_take(entry, key, str) for key in ("site", "query", "memory"))
    return Gaze(site, query, memory, arrays[f"gaze.{site}.corners"], arrays[f"gaze.{site}.seen"])


def _field(entry: Mapping[str, Any], arrays: Arrays) -> Field:
    name, kind, raw = (_take(entry, key, str) for key in ("name", "kind", "raw"))
    return Field(
        name, kind, raw, tuple(_take(entry, "labels", list)), arrays[f"field.{name}.anchors"]
    )


def _output(entry: Mapping[str, Any], arrays: Arrays) -> Output:
    alternatives = tuple(
        tuple((str(label), float(share)) for label, share in options)
        for options in _take(entry, "alternatives", list)
    )
    return Output(_take(entry, "field", str), arrays["output.probabilities"], alternatives)


def _map(entry: Mapping[str, Any], arrays: Arrays, fetch: Fetch | None) -> AttentionMap:
    site, query, memory, normalisation = (
        _take(entry, key, str) for key in ("site", "query", "memory", "normalisation")
    )
    sides = _take(entry, "grid", dict)
    grid = AreaGrid(
        *(_take(sides, side, int) for side in ("height", "width", "max_height", "max_width"))
    )
    if fetch is not None and f"map.{site}.weights" not in arrays:
        weights = _elsewhere(site, _take(entry, "shape", list), fetch)
    else:
        weights = _full(arrays[f"map.{site}.weights"])
    chosen, strength = (arrays.get(f"map.{site}.{name}") for name in ("chosen", "strength"))
    derived = (
        _take(entry, "derived", str) if "derived" in entry else ""
    )  # older files have no such entry
    return AttentionMap(
        site, query, memory, grid, weights, normalisation, chosen, strength, derived
    )


def _elsewhere(site: str, shape: list[Any], fetch: Fetch) -> FloatArray:
    """Weights [L, H, Q, A] that stay where they are until they are read."""
    layers, heads, queries, areas = (_take({"shape": size}, "shape", int) for size in shape)
    if not (1 <= layers <= MOST_LAYERS and 1 <= heads <= MOST_HEADS and min(queries, areas) >= 1):
        raise ValueError(f"weights of shape {layers} x {heads} x {queries} x {areas} cannot be")
    weights = LayeredWeights((layers, heads, queries, areas), partial(fetch, site))
    return cast(FloatArray, weights)  # it stands in for one


def _full(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Stored weights as float32; rows stored in float16 are divided by their sum again."""
    if weights.dtype != np.float16:
        return weights
    full: FloatArray = weights.astype(np.float32)
    for layer in (
        full
    ):  # one after the other: where areas are few, the sums take as much memory as the weights
        divide_by_sums(layer)
    full.flags.writeable = False
    return full


def divide_by_sums(rows: FloatArray) -> None:
    """Divide every row [..., A] by its sum, in place; rows of nothing but 0 stay so."""
    sums = rows.sum(-1, keepdims=True)
    np.divide(rows, sums, out=rows, where=sums > 0)


def _take(entry: Mapping[str, Any], key: str, kind: type[_Value]) -> _Value:
    """A value of the document that must be there and of its type."""
    value = entry.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f'"{key}" is missing or no {kind.__name__}')
    return value

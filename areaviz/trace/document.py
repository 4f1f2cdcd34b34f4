"""Conversion of a trace to a JSON document and plain arrays, and back. See docs/trace.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived_areas import (
    SUMS,
    AreaSoftmax,
    AreaSums,
    can_be_rederived,
    split_derived_site,
)
from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import from_text, to_text
from areaviz.trace.layered_weights import LayeredWeights
from areaviz.trace.medium import take
from areaviz.trace.record import (
    MAX_LAYERS_AND_HEADS,
    VERSION,
    AttentionMap,
    Field,
    FloatArray,
    Gaze,
    Output,
    Trace,
)
from areaviz.trace.request import MEDIA, Request
from areaviz.trace.request_fields import REQUEST_FIELDS, RequestField
from areaviz.trace.weights import divide_by_sums

FORMAT = "areaviz trace"

Arrays = Mapping[str, npt.NDArray[Any]]
# A function that fetches the weights of a site and layer, float32 [H, Q, A].
Fetch = Callable[[str, int], FloatArray]


def to_arrays(trace: Trace, without: Collection[str] = ()) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a trace by name. Weights that are stored elsewhere are not read.

    Args:
        trace: Weights that follow from other weights are left out. For weights made from
            logarithms, the logarithms are returned.
        without: Sites whose weights are also left out.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"output.probabilities": trace.output.probabilities}
    arrays |= {f"field.{name}.anchors": item.anchors for name, item in trace.fields.items()}
    for site, item in trace.maps.items():
        if site not in without and not can_be_rederived(item, trace.maps):
            name, weights = _find_stored_array(item, arrays)
            arrays[name] = weights
        if item.chosen is not None:
            arrays[f"map.{site}.chosen"] = item.chosen
        if item.strength is not None:
            arrays[f"map.{site}.strength"] = item.strength
    for site, gaze in trace.gazes.items():
        arrays |= {f"gaze.{site}.corners": gaze.corners, f"gaze.{site}.seen": gaze.seen}
    for name, medium in trace.request.media.items():
        arrays[f"request.{name}"] = medium.array
    return {
        name: array if isinstance(array, LayeredWeights) else np.ascontiguousarray(array)
        for name, array in arrays.items()
    }


def _find_stored_array(attention: AttentionMap, before: Arrays) -> tuple[str, FloatArray]:
    """Return the name and the array that represent a map's weights, given the arrays so far."""
    site, weights = attention.site, attention.weights
    base, ending = split_derived_site(site)
    if isinstance(weights, AreaSoftmax) and ending != SUMS:
        name, logs = name_logs(base), weights.made_of
        # A site has only one array of logarithms, so a map made from another array is stored in
        # full.
        if before.get(name, logs) is logs:
            return name, logs
    return f"map.{site}.weights", weights


def name_logs(site: str) -> str:
    """Return the name of the array with the logarithms of a site's item weights."""
    return f"map.{site}.logs"


def to_document(trace: Trace, without: Collection[str] = ()) -> dict[str, Any]:
    """Return everything in a trace except its arrays, ready for JSON.

    For a map in `without`, the entry states the shape of its weights, unless other weights
    determine them.
    """
    maps = []
    for attention in trace.maps.values():
        entry = _list_fields(attention, "site", "query", "memory", "normalisation", "derived")
        entry["grid"] = asdict(attention.grid)
        if attention.site in without and not can_be_rederived(attention, trace.maps):
            entry["shape"] = attention.weights.shape
        maps.append(entry)
    return {
        "format": FORMAT,
        "version": trace.version,
        "request": request_entry(trace.request),
        "fields": [_list_fields(f, "name", "kind", "raw", "labels") for f in trace.fields.values()],
        "output": _list_fields(trace.output, "field", "alternatives"),
        "maps": maps,
        "gazes": [_list_fields(gaze, "site", "query", "memory") for gaze in trace.gazes.values()],
        "details": dict(trace.details),
    }


def _list_fields(part: object, *names: str) -> dict[str, Any]:
    return {name: getattr(part, name) for name in names}


def request_entry(request: Request) -> dict[str, Any]:
    """Return a request as JSON, without the pixels and samples, which are arrays."""
    entry = asdict(replace(request.without_media(), changes=()))
    for name, medium in request.media.items():
        entry[name] = medium.entry
    entry["changes"] = to_text(request.changes)
    return entry


def from_document(document: Any, arrays: Arrays, fetch: Fetch | None = None) -> Trace:
    """Build a trace from its document and arrays. Its parts are not yet checked against each other.

    Args:
        document: Document of this or an earlier version, see `to_document`.
        arrays: The arrays by name.
        fetch: Fetches omitted weights when they are first read. Without it, only weights that other
            weights determine may be missing.

    Raises:
        InputError: The document is not a trace, or its version is newer.
        Exception: Any kind of error if the document does not follow the specification.
    """
    check_version(document)
    request = take(document, "request", dict)
    gazes = [] if document["version"] == 1 else take(document, "gazes", list)
    fields = [_read_field(entry, arrays) for entry in take(document, "fields", list)]
    maps: dict[str, AttentionMap] = {}
    for entry in take(document, "maps", list):
        attention = _read_map(entry, arrays, fetch, maps)
        maps[attention.site] = attention
    details = take(document, "details", dict)
    return Trace(
        request=read_request(request, arrays, document["version"]),
        fields={field.name: field for field in fields},
        output=_read_output(take(document, "output", dict), arrays),
        maps=maps,
        details={name: take(details, name, str) for name in details},
        gazes={gaze.site: gaze for gaze in (_read_gaze(entry, arrays) for entry in gazes)},
    )


def check_version(document: Any) -> None:
    """Refuse anything but a trace document of a known version.

    Call this before anything else is read, because a newer version may have unknown content.

    Raises:
        InputError: The document is not a trace, or its version is newer.
        ValueError: The version does not exist.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(
            "The file is an archive but not a trace. Choose a trace that this app has saved."
        )
    version = take(document, "version", int)
    if version > VERSION:
        raise InputError(
            f"The trace has version {version} but this app reads versions up to {VERSION}."
            " Update the app to open it."
        )
    if version < 1:
        raise ValueError(f"version {version} does not exist")


def read_request(entry: Mapping[str, Any], arrays: Arrays, version: int = VERSION) -> Request:
    """Return the request of an entry and its input arrays. Errors are those of `from_document`.

    Args:
        entry: The entry, see `request_entry`.
        arrays: The arrays by name.
        version: The version of the document. Older ones lack some fields.
    """
    given = {}
    for field in REQUEST_FIELDS:
        if field.name in entry or 0 < field.since <= version:
            given[field.name] = _request_value(field, entry, arrays)
    return Request(**given)


def _request_value(field: RequestField, entry: Mapping[str, Any], arrays: Arrays) -> Any:
    name, value = field.name, entry.get(field.name)
    if value is None and field.default is None:
        return None
    if field.kind is bool:
        return value is True
    if field.kind is tuple:
        return from_text(take(entry, name, str))
    if name in MEDIA:
        return MEDIA[name].read(value, arrays[f"request.{name}"])
    return take(entry, name, field.kind)


def _read_gaze(entry: Mapping[str, Any], arrays: Arrays) -> Gaze:
    site, query, memory = (take(entry, key, str) for key in ("site", "query", "memory"))
    return Gaze(site, query, memory, arrays[f"gaze.{site}.corners"], arrays[f"gaze.{site}.seen"])


def _read_field(entry: Mapping[str, Any], arrays: Arrays) -> Field:
    name, kind, raw = (take(entry, key, str) for key in ("name", "kind", "raw"))
    return Field(
        name, kind, raw, tuple(take(entry, "labels", list)), arrays[f"field.{name}.anchors"]
    )


def _read_output(entry: Mapping[str, Any], arrays: Arrays) -> Output:
    alternatives = tuple(
        tuple((str(label), float(share)) for label, share in options)
        for options in take(entry, "alternatives", list)
    )
    return Output(take(entry, "field", str), arrays["output.probabilities"], alternatives)


def _read_map(
    entry: Mapping[str, Any],
    arrays: Arrays,
    fetch: Fetch | None,
    before: Mapping[str, AttentionMap],
) -> AttentionMap:
    """Build a map. Its weights may be determined by one of the maps built before it."""
    site, sides = take(entry, "site", str), take(entry, "grid", dict)
    grid = AreaGrid(
        *(take(sides, side, int) for side in ("height", "width", "max_height", "max_width"))
    )
    base, ending = split_derived_site(site)
    if f"map.{site}.weights" in arrays:
        weights = _convert_to_single(arrays[f"map.{site}.weights"])
    elif "shape" not in entry and ending == SUMS:
        # The weights from logarithms stand in for an array, as fetched weights do.
        weights = cast(FloatArray, AreaSums(before[base], grid))
    elif "shape" not in entry and name_logs(base) in arrays:
        weights = cast(FloatArray, AreaSoftmax(arrays[name_logs(base)], grid))
    elif fetch is not None:
        weights = _make_remote_weights(site, take(entry, "shape", list), fetch)
    else:
        raise ValueError(f'the weights of "{site}" are missing')
    return AttentionMap(
        site=site,
        query=take(entry, "query", str),
        memory=take(entry, "memory", str),
        grid=grid,
        weights=weights,
        normalisation=take(entry, "normalisation", str),
        chosen=arrays.get(f"map.{site}.chosen"),
        strength=arrays.get(f"map.{site}.strength"),
        # Older files lack this entry.
        derived=take(entry, "derived", str) if "derived" in entry else "",
    )


def _make_remote_weights(site: str, shape: list[Any], fetch: Fetch) -> FloatArray:
    """Return a stand-in for weights [L, H, Q, A] that are fetched when they are read."""
    layers, heads, queries, areas = (take({"shape": size}, "shape", int) for size in shape)
    sizes = layers, heads, queries, areas
    if min(sizes) < 1 or max(layers, heads) > MAX_LAYERS_AND_HEADS:
        raise ValueError(f"weights of shape {layers} x {heads} x {queries} x {areas} cannot be")
    return cast(FloatArray, LayeredWeights(sizes, partial(fetch, site)))


def _convert_to_single(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return stored weights as float32. Rows stored as float16 are divided by their sum again."""
    if weights.dtype != np.float16:
        return weights
    full: FloatArray = weights.astype(np.float32)
    # Process one layer at a time: with few areas, the sums take as much memory as the weights.
    for layer in full:
        divide_by_sums(layer)
    full.flags.writeable = False
    return full

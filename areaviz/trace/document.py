"""A trace as a JSON document and plain arrays, and back, as docs/trace.md specifies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid
from areaviz.trace.clip import Clip, check_clip
from areaviz.trace.derived import SUMS, AreasOf, SumsOf, base_site, follows
from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import from_text, to_text
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.picture import Picture, check_picture
from areaviz.trace.record import (
    MOST,
    VERSION,
    AttentionMap,
    Field,
    FloatArray,
    Gaze,
    Output,
    Trace,
)
from areaviz.trace.request import Request
from areaviz.trace.sound import Sound, check_sound
from areaviz.trace.weights import divide_by_sums

FORMAT = "areaviz trace"
# What the requests of version 1 lacked, and those of version 2; version 1 knew no gazes either.
_ADDED: tuple[Mapping[str, Any], ...] = (
    {"picture": None, "sample": False},
    {"target": None, "changes": ""},
)
# What a request has always, and what may be None.
_REQUEST = {"model": str, "text": str, "method": str, "beam": int, "seed": int}
_OPTIONAL = {"area_size": int, "target": str}

Arrays = Mapping[str, npt.NDArray[Any]]
# Gets the weights of a site and layer, float32 [H, Q, A], from where they lie.
Fetch = Callable[[str, int], FloatArray]
_Value = TypeVar("_Value")


def to_arrays(trace: Trace, without: Collection[str] = ()) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a trace by name; weights that lie elsewhere stay there.

    Args:
        trace: weights that follow from others in it are left out, and those that are made of
            logarithms are these.
        without: sites whose weights are left out too.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"output.probabilities": trace.output.probabilities}
    arrays |= {f"field.{name}.anchors": item.anchors for name, item in trace.fields.items()}
    for site, item in trace.maps.items():
        if site not in without and not follows(item, trace.maps):
            name, weights = _stored(item, arrays)
            arrays[name] = weights
        if item.chosen is not None:
            arrays[f"map.{site}.chosen"] = item.chosen
        if item.strength is not None:
            arrays[f"map.{site}.strength"] = item.strength
    for site, gaze in trace.gazes.items():
        arrays |= {f"gaze.{site}.corners": gaze.corners, f"gaze.{site}.seen": gaze.seen}
    if trace.request.picture is not None:
        arrays["request.picture"] = trace.request.picture.pixels
    if trace.request.sound is not None:
        arrays["request.sound"] = trace.request.sound.samples
    if trace.request.clip is not None:
        arrays["request.clip"] = trace.request.clip.pixels
    return {
        name: array if isinstance(array, LayeredWeights) else np.ascontiguousarray(array)
        for name, array in arrays.items()
    }


def _stored(attention: AttentionMap, before: Arrays) -> tuple[str, FloatArray]:
    """The array that stands for the weights of a map, by name; `before` it come others."""
    site, weights = attention.site, attention.weights
    base, ending = base_site(site)
    if isinstance(weights, AreasOf) and ending != SUMS:
        name, logs = logs_name(base), weights.made_of
        # One array serves all maps of a site, so one that is made of another is stored as it is.
        if before.get(name, logs) is logs:
            return name, logs
    return f"map.{site}.weights", weights


def logs_name(site: str) -> str:
    """The name of the array that has the logarithms of the item weights of a site."""
    return f"map.{site}.logs"


def to_document(trace: Trace, without: Collection[str] = ()) -> dict[str, Any]:
    """Everything in a trace that is no array, ready for JSON.

    A map `without` its weights has their shape instead, unless they follow from others.
    """
    maps = []
    for attention in trace.maps.values():
        entry = _named(attention, "site", "query", "memory", "normalisation", "derived")
        entry["grid"] = asdict(attention.grid)
        if attention.site in without and not follows(attention, trace.maps):
            entry["shape"] = attention.weights.shape
        maps.append(entry)
    return {
        "format": FORMAT,
        "version": trace.version,
        "request": request_entry(trace.request),
        "fields": [_named(f, "name", "kind", "raw", "labels") for f in trace.fields.values()],
        "output": _named(trace.output, "field", "alternatives"),
        "maps": maps,
        "gazes": [_named(gaze, "site", "query", "memory") for gaze in trace.gazes.values()],
        "details": dict(trace.details),
    }


def _named(part: object, *names: str) -> dict[str, Any]:
    return {name: getattr(part, name) for name in names}


def request_entry(request: Request) -> dict[str, Any]:
    """A request without its pixels and its samples, which are arrays."""
    entry = asdict(replace(request, picture=None, sound=None, clip=None, changes=()))
    entry["picture"] = request.picture and request.picture.name
    entry["sound"] = request.sound and request.sound.name
    if request.clip is not None:
        entry["clip"] = {"name": request.clip.name, "milliseconds": request.clip.milliseconds}
    entry["changes"] = to_text(request.changes)
    return entry


def from_document(document: Any, arrays: Arrays, fetch: Fetch | None = None) -> Trace:
    """Put a trace together again, its parts not yet checked against each other.

    Args:
        document: as `to_document` gives it, of this or an earlier version.
        arrays: by name.
        fetch: gets what weights were left out, when they are first read; without it only those
            may be that follow from others.

    Raises:
        InputError: it is no trace or of a newer version.
        Exception: of any kind where the document is not as specified.
    """
    check_version(document)
    request = dict(_take(document, "request", dict))
    for entries in _ADDED[document["version"] - 1 :]:
        request |= entries
    gazes = [] if document["version"] == 1 else _take(document, "gazes", list)
    fields = [_field(entry, arrays) for entry in _take(document, "fields", list)]
    maps: dict[str, AttentionMap] = {}
    for entry in _take(document, "maps", list):
        attention = _map(entry, arrays, fetch, maps)
        maps[attention.site] = attention
    details = _take(document, "details", dict)
    return Trace(
        request=read_request(request, arrays),
        fields={field.name: field for field in fields},
        output=_output(_take(document, "output", dict), arrays),
        maps=maps,
        details={name: _take(details, name, str) for name in details},
        gazes={gaze.site: gaze for gaze in (_gaze(entry, arrays) for entry in gazes)},
    )


def check_version(document: Any) -> None:
    """Refuse what is no document of a trace, or that of a newer version.

    It comes before anything else is read, as a newer version may have what this one does not know.

    Raises:
        InputError: it is no trace or of a newer version.
        ValueError: there is no such version.
    """
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
    """A request of an entry and the arrays of its inputs; raises as `from_document`."""
    picture, sound, clip = None, None, None
    if entry["picture"] is not None:
        picture = _picture(_take(entry, "picture", str), arrays["request.picture"])
    # Older files have no such entry.
    if entry.get("sound") is not None:
        sound = _sound(_take(entry, "sound", str), arrays["request.sound"])
    if entry.get("clip") is not None:
        clip = _clip(_take(entry, "clip", dict), arrays["request.clip"])
    given: dict[str, Any] = {name: _take(entry, name, kind) for name, kind in _REQUEST.items()}
    for name, kind in _OPTIONAL.items():
        given[name] = None if entry[name] is None else _take(entry, name, kind)
    changes = from_text(_take(entry, "changes", str))
    return Request(
        **given,
        picture=picture,
        sound=sound,
        clip=clip,
        sample=entry["sample"] is True,
        changes=changes,
        # Older files have no such entry.
        attribution=entry.get("attribution") is True,
    )


def _picture(name: str, pixels: npt.NDArray[Any]) -> Picture:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError("the picture is no array of red, green and blue bytes")
    picture = Picture.of(name, pixels)
    check_picture(picture)
    return picture


def _sound(name: str, samples: npt.NDArray[Any]) -> Sound:
    if samples.dtype != np.int16 or samples.ndim != 1:
        raise ValueError("the sound is no array of 16-bit samples")
    sound = Sound.of(name, samples)
    check_sound(sound)
    return sound


def _clip(entry: Mapping[str, Any], pixels: npt.NDArray[Any]) -> Clip:
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
        raise ValueError("the clip is no array of red, green and blue bytes")
    clip = Clip.of(_take(entry, "name", str), pixels, _take(entry, "milliseconds", int))
    check_clip(clip)
    return clip


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


def _map(
    entry: Mapping[str, Any],
    arrays: Arrays,
    fetch: Fetch | None,
    before: Mapping[str, AttentionMap],
) -> AttentionMap:
    """A map; `before` it come those that it may follow from."""
    site, sides = _take(entry, "site", str), _take(entry, "grid", dict)
    grid = AreaGrid(
        *(_take(sides, side, int) for side in ("height", "width", "max_height", "max_width"))
    )
    base, ending = base_site(site)
    if f"map.{site}.weights" in arrays:
        weights = _full(arrays[f"map.{site}.weights"])
    elif "shape" not in entry and ending == SUMS:
        # It stands in for an array, as do weights that are fetched.
        weights = cast(FloatArray, SumsOf(before[base], grid))
    elif "shape" not in entry and logs_name(base) in arrays:
        weights = cast(FloatArray, AreasOf(arrays[logs_name(base)], grid))
    elif fetch is not None:
        weights = _elsewhere(site, _take(entry, "shape", list), fetch)
    else:
        raise ValueError(f'the weights of "{site}" are missing')
    return AttentionMap(
        site=site,
        query=_take(entry, "query", str),
        memory=_take(entry, "memory", str),
        grid=grid,
        weights=weights,
        normalisation=_take(entry, "normalisation", str),
        chosen=arrays.get(f"map.{site}.chosen"),
        strength=arrays.get(f"map.{site}.strength"),
        # Older files have no such entry.
        derived=_take(entry, "derived", str) if "derived" in entry else "",
    )


def _elsewhere(site: str, shape: list[Any], fetch: Fetch) -> FloatArray:
    """Weights [L, H, Q, A] that stay where they are until they are read."""
    layers, heads, queries, areas = (_take({"shape": size}, "shape", int) for size in shape)
    sizes = layers, heads, queries, areas
    if min(sizes) < 1 or max(layers, heads) > MOST:
        raise ValueError(f"weights of shape {layers} x {heads} x {queries} x {areas} cannot be")
    return cast(FloatArray, LayeredWeights(sizes, partial(fetch, site)))


def _full(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Stored weights as float32; rows stored in float16 are divided by their sum again."""
    if weights.dtype != np.float16:
        return weights
    full: FloatArray = weights.astype(np.float32)
    # One layer after the other: where areas are few, the sums take as much memory as the weights.
    for layer in full:
        divide_by_sums(layer)
    full.flags.writeable = False
    return full


def _take(entry: Mapping[str, Any], key: str, kind: type[_Value]) -> _Value:
    """A value of the document that must be there and of its type."""
    value = entry.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f'"{key}" is missing or no {kind.__name__}')
    return value

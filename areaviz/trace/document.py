"""The JSON document of a trace, and the check that its parts agree. See docs/trace.md.

`validate` checks a trace. `to_document` and `from_document` convert it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, divide_by_sums
from areaviz.trace.changes import format_changes, parse_changes
from areaviz.trace.derived import SUMS, AreaSoftmax, AreaSums, can_be_rederived, split_derived_site
from areaviz.trace.errors import InputError
from areaviz.trace.kinds import KINDS
from areaviz.trace.record import (
    MAX_LAYERS_AND_HEADS,
    TOLERANCE,
    VERSION,
    AttentionMap,
    Field,
    Gaze,
    LayeredWeights,
    Output,
    Trace,
)
from areaviz.trace.request import MEDIA, REQUEST_FIELDS, Focus, Request, RequestField, take

# Checks that the parts of a trace agree, as docs/trace.md says, and that a focus points into it.
#
# Shapes: as in `areaviz/trace/record.py`.


_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")


def validate(trace: Trace) -> None:
    """Check that the parts of a trace agree with each other, as docs/trace.md says.

    Raises:
        ValueError: The first disagreement found, in one sentence.
    """
    _check_condition(
        trace.version == VERSION,
        f"The trace has version {trace.version}; this code writes {VERSION}.",
    )
    for name, item in trace.fields.items():
        _check_condition(name == item.name, f'The field "{item.name}" is filed under "{name}".')
        _check_field(trace, item)
    _check_output(trace)
    for site, gaze in trace.gazes.items():
        _check_condition(site == gaze.site, f'The gaze of "{gaze.site}" is filed under "{site}".')
        _check_gaze(trace, gaze)
    for site, attention in trace.maps.items():
        _check_condition(
            site == attention.site, f'The map of "{attention.site}" is filed under "{site}".'
        )
        _check_map(trace, attention)


def check_focus(trace: Trace, focus: Focus) -> None:
    """Check that a focus, which may come from a link, points into this trace.

    Raises:
        InputError: The focus names a site, layer, head or item that the trace does not have.
    """
    attention = trace.maps.get(focus.site)
    if attention is None:
        raise InputError(
            f'This result has no site "{focus.site}". Choose one of: {", ".join(trace.maps)}.'
        )
    items = attention.weights.shape[2] if focus.side == "query" else attention.grid.items
    parts = [("layer", focus.layer, attention.layers), ("head", focus.head or 0, attention.heads)]
    parts += [("item", item, items) for item in focus.items]
    for name, value, count in parts:
        if not 0 <= value < count:
            raise InputError(
                f"This result has {count:,} {name}{'s' if count > 1 else ''} but the link"
                f" asks for {name} {value + 1:,}. Choose another {name}."
            )


def check_rows(weights: FloatArray, called: str) -> None:
    """Check that rows of weights [..., A] sum to 1, or to 0 if everything is masked.

    Raises:
        ValueError: A weight is below 0 or NaN, or a row has another sum.
    """
    _check_condition(bool(weights.min() >= 0), f"{called} has weights below 0 or not a number.")
    for weights_QA in weights.reshape(-1, *weights.shape[-2:]):
        # Check one head at a time. With few areas, the sums would take as much memory as the
        # weights.
        sums_Q = weights_QA.sum(-1)
        summed = np.minimum(np.abs(sums_Q - 1), sums_Q) <= TOLERANCE
        _check_condition(
            bool(summed.all()), f"{called} has rows of weights that sum to neither 1 nor 0."
        )


def _check_condition(holds: bool, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)


def _check_name(called: str, name: str) -> None:
    _check_condition(
        bool(_NAME.fullmatch(name)),
        f"{called} may only have small letters, digits, blanks and hyphens.",
    )


def _check_sides(trace: Trace, called: str, part: AttentionMap | Gaze) -> None:
    """Check the name and the fields of a map or gaze."""
    _check_name(called, part.site)
    missing = [name for name in (part.query, part.memory) if name not in trace.fields]
    _check_condition(
        not missing, f"{called} names a field that the trace lacks: {', '.join(missing)}."
    )


def _check_array(
    what: str, array: npt.NDArray[Any], dtype: npt.DTypeLike, shape: tuple[int, ...]
) -> None:
    _check_condition(array.dtype == dtype, f"{what} of type {array.dtype}, not {np.dtype(dtype)}.")
    _check_condition(array.shape == shape, f"{what} of shape {array.shape}, not {shape}.")


def _check_field(trace: Trace, item: Field) -> None:
    called = f'The field "{item.name}"'
    _check_name(called, item.name)
    _check_condition(item.kind in KINDS, f'{called} is of the unknown kind "{item.kind}".')
    texts = all(isinstance(label, str) for label in item.labels)
    _check_condition(texts, f"{called} has labels that are not text.")
    count, kind = len(item), KINDS[item.kind]
    shape = (count, kind.anchor)
    _check_array(f"{called} has {count} labels but anchors", item.anchors, np.int64, shape)
    problem = kind.problem(item, trace.request)
    _check_condition(not problem, f"{called} {problem}.")


def _check_gaze(trace: Trace, gaze: Gaze) -> None:
    called = f'The gaze of "{gaze.site}"'
    _check_sides(trace, called, gaze)
    kind = trace.fields[gaze.memory].kind
    _check_condition(kind == "picture", f"{called} looks at a field that is not a picture.")
    steps, scales = len(trace.fields[gaze.query]), (*gaze.corners.shape, 0, 0)[1]
    _check_array(
        f"{called} has corners for {steps} steps", gaze.corners, np.float32, (steps, scales, 4, 2)
    )
    _check_condition(
        bool(np.isfinite(gaze.corners).all()), (f"{called} has corners that are not numbers.")
    )
    sides = gaze.seen.shape[2:]
    _check_condition(len(sides) == 2, f"{called} has patches of shape {gaze.seen.shape}.")
    _check_array(f"{called} has patches", gaze.seen, np.uint8, (steps, scales, *sides))


def _check_output(trace: Trace) -> None:
    output = trace.output
    _check_condition(
        output.field in trace.fields,
        f'The output names a field "{output.field}" that the trace lacks.',
    )
    count, found = len(trace.fields[output.field]), output.probabilities
    _check_condition(
        found.shape == (count,),
        f"The output has probabilities of shape {found.shape} for {count} items.",
    )
    _check_array("The output has probabilities", found, np.float32, (count,))
    _check_condition(_are_shares(found), "The output has probabilities outside 0 to 1.")
    _check_condition(
        len(output.alternatives) == count,
        f"The output has alternatives for {len(output.alternatives)} of {count} items.",
    )
    likely = [share for options in output.alternatives for _, share in options]
    _check_condition(
        _are_shares(np.array(likely, np.float64)),
        "The output has alternatives with probabilities outside 0 to 1.",
    )


def _check_map(trace: Trace, attention: AttentionMap) -> None:
    called, weights_LHQA = f'The map of "{attention.site}"', attention.weights
    _check_sides(trace, called, attention)
    queries, items = len(trace.fields[attention.query]), len(trace.fields[attention.memory])
    grid = attention.grid
    _check_condition(
        grid.items == items, f"{called} has a grid of {grid.items} items over a memory of {items}."
    )
    shape = weights_LHQA.shape
    _check_condition(
        len(shape) == 4 and min(shape) > 0 and shape[2:] == (queries, grid.count),
        f"{called} has weights of shape {shape} but must be layers x heads x"
        f" {queries} x {grid.count}.",
    )
    _check_array(f"{called} has weights", weights_LHQA, np.float32, shape)
    _check_condition(
        max(shape[:2]) <= MAX_LAYERS_AND_HEADS,
        f"{called} has more than {MAX_LAYERS_AND_HEADS:,} layers, or heads of a layer.",
    )
    # Weights that are stored elsewhere are checked by the code that fetches them.
    if not isinstance(weights_LHQA, LayeredWeights):
        check_rows(weights_LHQA, called)
    chosen, strength = attention.chosen, attention.strength
    if chosen is not None:
        _check_array(f"{called} has choices", chosen, np.int64, shape[:3])
        inside = bool(((chosen >= 0) & (chosen < grid.count)).all())
        _check_condition(inside, f"{called} has choices that are not areas.")
    if strength is not None:
        _check_array(f"{called} has strengths", strength, np.float32, shape[:3])
        finite = bool(np.isfinite(strength).all() and strength.min() >= 0)
        _check_condition(finite, f"{called} has strengths below 0 or not a number.")


def _are_shares(values: npt.NDArray[np.floating]) -> bool:
    """Return whether all values are in 0..1, up to rounding. NaN is not."""
    return bool(np.all((values >= 0) & (values <= 1 + TOLERANCE)))


# Conversion of a trace to a JSON document and plain arrays, and back. See docs/trace.md.


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
    entry["changes"] = format_changes(request.changes)
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
        return parse_changes(take(entry, name, str))
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

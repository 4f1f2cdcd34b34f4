"""Conversion between traces and attributions of Inseq (Sarti et al. 2023).

Inseq stores the attribution of each output token to the tokens of its source and of its prefix, as
JSON with class names and arrays. No class is ever looked up by name. Only numbers and texts are
read.

Shapes: S source tokens, T target tokens, G generated tokens, D further axes (layers, heads, width),
L layers, H heads.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, divide_by_sums
from areaviz.trace.arrays import MAX_ITEMS, NO_OUTPUT, make_empty_output, make_text_field
from areaviz.trace.document import validate
from areaviz.trace.errors import MAX_UPLOAD_MEGABYTES, InputError, describe_value
from areaviz.trace.query import item_shares
from areaviz.trace.record import (
    AttentionMap,
    Field,
    Output,
    Trace,
    check_trace,
    expand_path,
    find_file,
)
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_whole

CROSS, DECODER = "encoder-decoder", "decoder self"
_KINDS = ("float16", "float32", "float64")
_SAFETENSORS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_MOST_BYTES = MAX_UPLOAD_MEGABYTES << 20


def load_inseq(path: Path | str, example: int = 0) -> Trace:
    """Load one attribution from a file that Inseq saved.

    The weight of a token is the magnitude of its attribution as a share of the sum of all
    magnitudes. Layers and heads of attention stay separate. Other further axes are reduced to their
    Euclidean norm.

    Args:
        path: File written by `FeatureAttributionOutput.save`, compressed or not.
        example: Index of the sequence, from 0.

    Raises:
        InputError: The file or the example does not exist, or Inseq did not write the file.
    """
    entries = _read_file(find_file(path))
    sequences = _get_attributes(entries).get("sequence_attributions")
    if not isinstance(sequences, list) or not sequences:
        raise _make_format_error()
    if not isinstance(example, Integral) or not 0 <= example < len(sequences):
        raise InputError(
            f"The file has {len(sequences)} attributions, so there is no number"
            f" {describe_value(example)}. Count them from 0."
        )
    info = _get_attributes(entries).get("info") or {}
    try:
        return _make_trace(
            _get_attributes(sequences[example]), info if isinstance(info, dict) else {}
        )
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, zlib.error, OSError) as error:
        raise _make_format_error() from error


def save_inseq(trace: Trace, path: Path | str, layer: int | None = None) -> Path:
    """Write the attention to source and prefix as an attribution that Inseq loads.

    The weights of areas are distributed over their tokens (normalised coverage), and heads are
    averaged.

    Args:
        trace: Trace of a model that writes text.
        path: Path of the JSON file.
        layer: Layer to write, from 0. None writes the mean over all layers.

    Raises:
        InputError: The trace has no map of what an output attends to.
    """
    check_trace(trace)
    place = expand_path(path)
    maps = [trace.maps.get(site) for site in (CROSS, DECODER)]
    across, within = maps
    if across is None and within is None:
        raise InputError(
            f'Inseq has attributions of outputs, so a trace needs a map "{CROSS}" or "{DECODER}".'
        )
    written, begins = _list_written(trace, within)
    source = trace.fields[across.memory].labels if across else written[:begins]
    sequence: dict[str, Any] = {
        "source": _make_tokens(source),
        "target": _make_tokens(written),
        "source_attributions": None
        if across is None
        else _encode_array(_average_coverage(across, layer)),
        "target_attributions": None
        if within is None
        else _encode_array(_average_prefix(within, layer, begins)),
        "step_scores": {},
        "sequence_scores": {},
        "attr_pos_start": begins,
        "attr_pos_end": len(written),
    }
    if trace.output.field == "target":
        probabilities = np.asarray(trace.output.probabilities, np.float32)
        sequence["step_scores"] = {"probability": _encode_array(probabilities)}
    kind = "FeatureAttributionSequenceOutput"
    info = {"model_name": trace.request.model, "attribution_method": "attention"}
    whole = {
        "sequence_attributions": [_make_instance("inseq.data.attribution", kind, sequence)],
        "step_attributions": None,
        "info": info,
    }
    content = json.dumps(
        _make_instance("inseq.data.attribution", "FeatureAttributionOutput", whole)
    )
    write_whole(place, content.encode())
    return place


def _read_file(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        if content.startswith(b"\x1f\x8b"):
            content = zlib.decompressobj(31).decompress(content, _MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(
                f"The file has more than {MAX_UPLOAD_MEGABYTES} MB. Save fewer attributions in it."
            )
        found = json.loads(content)
    except (ValueError, zlib.error, RecursionError) as error:
        raise _make_format_error() from error
    return found if isinstance(found, dict) else {}


def _make_format_error() -> InputError:
    return InputError(
        "The file is not an attribution that Inseq saved, or it is damaged. Save it with"
        " FeatureAttributionOutput.save."
    )


def _get_attributes(entry: Any) -> Mapping[str, Any]:
    """Return the attributes of an instance. Newer files store them without a wrapper."""
    if not isinstance(entry, dict):
        raise _make_format_error()
    inner = entry.get("attributes", entry)
    return inner if isinstance(inner, dict) else {}


def _make_trace(sequence: Mapping[str, Any], info: Mapping[str, Any]) -> Trace:
    source = make_text_field("source", _list_labels(sequence["source"]))
    written = _list_labels(sequence["target"])
    start = int(sequence.get("attr_pos_start") or 0)
    end = sequence.get("attr_pos_end") or len(written)
    target = make_text_field("target", written[start : int(end)])
    prefix = make_text_field("history", written)
    maps = {}
    for site, memory, name in (
        (CROSS, source, "source_attributions"),
        (DECODER, prefix, "target_attributions"),
    ):
        if sequence.get(name) is not None:
            values_LHSG = _add_layer_axes(_read_numbers(sequence[name]))
            maps[site] = _make_map(site, memory, values_LHSG, len(target))
    if not maps:
        raise InputError("The attribution has no values for source or target tokens.")
    scores = sequence.get("step_scores") or {}
    output, last = NO_OUTPUT, make_empty_output()
    if "probability" in scores:
        likely = _read_numbers(scores["probability"]).astype(np.float32).reshape(-1)[: len(target)]
        if len(likely) == len(target) and np.all((likely >= 0) & (likely <= 1)):
            output, last = Output("target", likely, tuple(() for _ in likely)), target
    used = [source] if CROSS in maps else []
    used += [prefix] if DECODER in maps else []
    fields = {field.name: field for field in (*used, target, last)}
    method = str(info.get("attribution_method") or "unknown")
    request = Request("inseq", source.raw)
    trace = Trace(request, fields, output, maps, {"attribution": method})
    validate(trace)
    return trace


def _list_labels(tokens: Any) -> list[str]:
    labels = [str(_get_attributes(token)["token"])[:100] for token in tokens]
    if not 0 < len(labels) <= MAX_ITEMS:
        raise InputError(f"A text has {len(labels):,} tokens, but 1 to {MAX_ITEMS:,} can be shown.")
    return labels


def _read_numbers(entry: Any) -> npt.NDArray[np.float32]:
    """Return an array, stored as safetensors text or, in older files, as lists or bytes."""
    if isinstance(entry, list):
        return np.array(entry, np.float32)
    if isinstance(entry, str):
        return _unpack(base64.b64decode(entry, validate=True))
    data, kind = entry["__ndarray__"], str(entry["dtype"])
    shape = tuple(int(side) for side in entry["shape"])
    if isinstance(data, list):
        return np.array(data, np.float32).reshape(shape)
    form, _, packed = str(data).partition(":")
    if form not in ("b64", "b64.gz") or kind not in _KINDS:
        raise _make_format_error()
    content = base64.b64decode(packed)
    if form == "b64.gz":
        content = zlib.decompressobj(31).decompress(content, _MOST_BYTES)
    values = np.frombuffer(content, np.dtype(kind)).reshape(shape)
    return values.astype(np.float32)


def _unpack(content: bytes) -> npt.NDArray[np.float32]:
    """Return the single array of a safetensors file: header length, JSON header, numbers."""
    length = int.from_bytes(content[:8], "little")
    if length > len(content) - 8:
        raise _make_format_error()
    about = json.loads(content[8 : 8 + length])["attribution"]
    kind = _SAFETENSORS.get(str(about["dtype"]))
    if kind is None:
        raise InputError(
            f"The attribution has numbers of the type {about['dtype']}. Save it with"
            ' scores_precision="float32".'
        )
    first, end = about["data_offsets"]
    values = np.frombuffer(content[8 + length + int(first) : 8 + length + int(end)], kind)
    return values.reshape(tuple(int(side) for side in about["shape"])).astype(np.float32)


def _add_layer_axes(values: npt.NDArray[np.float32]) -> FloatArray:
    """Return values [L, H, S, G] from [S, G], [S, G, D] or, for attention, [S, G, L, H]."""
    values = np.nan_to_num(values)
    if values.ndim == 3:
        values = np.linalg.norm(values, axis=-1)
    if values.ndim == 2:
        values = values[..., None, None]
    if values.ndim != 4:
        raise _make_format_error()
    return values.transpose(2, 3, 0, 1)


def _make_map(site: str, memory: Field, values_LHSG: FloatArray, outputs: int) -> AttentionMap:
    """Return a map of shares, with zeros for the rows that Inseq omits after the last token."""
    layers, heads, rows, columns = values_LHSG.shape
    if rows > len(memory) or columns != outputs:
        raise _make_format_error()
    shares_LHGN = np.zeros((layers, heads, outputs, len(memory)), np.float32)
    shares_LHGN[..., :rows] = np.abs(values_LHSG).transpose(0, 1, 3, 2)
    divide_by_sums(shares_LHGN)
    return AttentionMap(
        site,
        "target",
        memory.name,
        AreaGrid(1, len(memory), 1, 1),
        shares_LHGN,
        "sizes of attributions of Inseq, as shares",
    )


def _list_written(trace: Trace, within: AttentionMap | None) -> tuple[list[str], int]:
    """Return the whole given and generated text, and the position of the first output in it.

    For a decoder-only model the text begins with the prompt, and its first token is not an output.
    """
    if within is not None and within.query == "history":
        labels = list(trace.fields["history"].labels)
        last = trace.fields["target"].labels[-1:] if "target" in trace.fields else ()
        return [*labels, *last], 1
    return list(trace.fields["target"].labels), 0


def _average_coverage(attention: AttentionMap, layer: int | None) -> FloatArray:
    """Return normalised coverage, averaged over heads: [memory, queries]."""
    layers: Sequence[int] = range(attention.layers) if layer is None else [layer]
    shares_LQN = np.stack([item_shares(attention, one, None) for one in layers])
    shares_NQ: FloatArray = shares_LQN.mean(0).T.astype(np.float32)
    return shares_NQ


def _average_prefix(attention: AttentionMap, layer: int | None, begins: int) -> FloatArray:
    """Return the attention to the prefix in the form of Inseq, without a start symbol.

    The model never read the last token, so its row is NaN.
    """
    rows = _average_coverage(attention, layer)
    rows = rows if begins else rows[1:]
    return np.vstack([rows, np.full((1, rows.shape[1]), np.nan, np.float32)])


def _encode_array(values: npt.NDArray[np.float32]) -> str:
    """Return an array as Inseq stores it: a safetensors file in base 64."""
    content = np.ascontiguousarray(values, "<f4").tobytes()
    about = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [0, len(content)]}
    header = json.dumps({"attribution": about}).encode()
    header += b" " * (-len(header) % 8)
    return base64.b64encode(len(header).to_bytes(8, "little") + header + content).decode()


def _make_tokens(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return tokens for Inseq, which requires an id for each. The ids are the positions."""
    made = []
    for number, label in enumerate(labels):
        token = {"token": label, "id": number}
        made.append(_make_instance("inseq.utils.typing", "TokenWithId", token))
    return made


def _make_instance(module: str, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {"__instance_type__": [module, name], "attributes": dict(attributes)}

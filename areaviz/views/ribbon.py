"""The token ribbon: point at an item and see, for every head, the spans it attends to (and the other way round).

The interaction happens in the browser (`areaviz/ui/ribbon`); this module works out, once for a site and layer, all it
needs. Shapes: H heads, Q queries, A areas, N memory items, K kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.query import words
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.base import Takeaway, caption
from areaviz.views.ribbon_arrays import narrow, pack, quantised, top_queries, top_spans
from areaviz.views.ribbon_print import ribbon_print
from areaviz.views.ribbon_table import TOP, ribbon_table
from areaviz.views.select import NAMES
from areaviz.views.theme import HEAD_COLOURS

__all__ = ["TAKEAWAY", "pack_ribbon", "ribbon_fits", "ribbon_payload", "ribbon_print", "ribbon_table"]

ROOMY = 1 << 14
"""Up to this many (head, query) pairs weights travel with 16 bits, and 4 areas, 4 of several items and 4 queries of
each; above with 8 bits, and 3, 1 and 2 of them, which keeps 4,096 items and 12 heads below 1 MB."""


TAKEAWAY = Takeaway("ribbon", ribbon_table, ribbon_print)
"""The ribbon as files: in the browser it moves, on paper it shows the chosen items."""


def ribbon_fits(trace: Trace, focus: Focus) -> bool:
    """Whether both sides of the focused site are text in one row."""
    attention = trace.maps.get(focus.site)
    if attention is None or attention.grid.height != 1:
        return False
    return all(trace.fields[name].kind == "text" for name in (attention.query, attention.memory))


def ribbon_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """What the browser needs of one site and layer: `header` (plain values) and `arrays` (NumPy, unsigned).

    arrays: `area` [H, Q, K] indices into the grid's areas with `area_weight`, `several` and `several_weight` the
    same of areas of two or more items where there are any, `query` [H, N, K] with `query_weight` (coverage), each
    heaviest first with weight 0 where nothing is left, weights stored as `ribbon_arrays.quantised`; and for each
    field f0 (, f1) `start` and `end` of every item in characters and `word`, the first item of every word.
    `header["id"]` changes with the content. Independent of the focused head, items, unit and areas. Raises ValueError
    when the memory is not a sequence.
    """
    attention = trace.maps[focus.site]
    arrays = _attention_arrays(attention, focus.layer)
    names = list(dict.fromkeys((attention.query, attention.memory)))
    for number, name in enumerate(names):
        arrays |= {f"f{number}.{part}": values for part, values in _field_arrays(trace.fields[name]).items()}
    before, _, after = caption(trace, replace(focus, head=None)).rpartition("all heads")
    header = {
        "heads": attention.heads,
        "grid": [attention.grid.width, attention.grid.max_width],
        "keep": {name: arrays[name].shape[-1] for name in ("area", "several", "query") if name in arrays},
        "fields": [_field_header(trace.fields[name]) for name in names],
        "query": names.index(attention.query),
        "memory": names.index(attention.memory),
        "colours": HEAD_COLOURS,
        "caption": [before, after],
    }
    return {"header": {"id": _digest(header, arrays), **header}, "arrays": arrays}


def pack_ribbon(payload: Mapping[str, Any], **more: object) -> bytes:
    """A payload and a few more header entries as the bytes that travel; the layout is `ribbon_arrays.pack`'s."""
    return pack({**payload["header"], **more}, payload["arrays"])


def _attention_arrays(attention: AttentionMap, layer: int) -> dict[str, npt.NDArray[Any]]:
    weights_HQA = attention.weights[layer]
    roomy = weights_HQA.shape[0] * weights_HQA.shape[1] <= ROOMY
    depth: type[np.unsignedinteger[Any]] = np.uint16 if roomy else np.uint8
    keep = dict(zip(("area", "several", "query"), (TOP, TOP, TOP) if roomy else (3, 1, 2), strict=True))
    found = {
        "area": top_spans(weights_HQA, attention.grid, keep["area"]),
        "query": top_queries(weights_HQA, attention.grid, keep["query"]),
    }
    if attention.grid.max_width > 1:
        found["several"] = top_spans(weights_HQA, attention.grid, keep["several"], min_size=2)
    largest = max(attention.grid.count, weights_HQA.shape[1])
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, ranked in found.items():
        arrays |= {name: narrow(ranked.index, largest), f"{name}_weight": quantised(ranked.weight, depth)}
    return arrays


def _field_arrays(field: Field) -> dict[str, npt.NDArray[Any]]:
    longest = max(len(field.raw), len(field)) + 1
    starts = np.array([start for start, _ in words(field)], dtype=np.int64)
    columns = {"start": field.anchors[:, 0], "end": field.anchors[:, 1], "word": starts}
    return {part: narrow(values, longest) for part, values in columns.items()}


def _field_header(field: Field) -> dict[str, Any]:
    """Title, text, and the labels that differ from the text they stand for."""
    pairs = enumerate(zip(field.labels, field.anchors.tolist(), strict=True))
    labels = {item: label for item, (label, (start, end)) in pairs if label != field.raw[start:end]}
    return {"title": NAMES.get(field.name, field.name).capitalize(), "raw": field.raw, "labels": labels}


def _digest(header: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> str:
    return hashlib.sha256(pack(header, arrays)).hexdigest()[:16]

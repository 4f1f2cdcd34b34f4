"""The token ribbon: point at an item and see, for every head, the spans it attends to (and the
other way round).

The interaction happens in the browser (`areaviz/components/ribbon`); this module works out, once
for a site and layer, all it needs. Shapes: H heads, Q queries, A areas, N memory items, K kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.base import Takeaway, caption
from areaviz.drawing.theme import HEAD_COLOURS
from areaviz.interactive.message import narrow, payload, quantised, text_arrays, title
from areaviz.interactive.ribbon_print import ribbon_print
from areaviz.interactive.ribbon_table import TOP, ribbon_table
from areaviz.interactive.sent_areas import sent_areas
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import MAX_OVERLAP, Ranked, coverage, largest

ROOMY = 1 << 14
"""Up to this many (head, query) pairs weights travel with 16 bits, and at least 4 areas, 4 of
several items and 4 queries of each; above with 8 bits, and 3, 1 and 2 of them, which keeps 4,096
items and 12 heads below 1 MB.
"""
ENTRIES = 1 << 14
"""So many of each kind travel where that is more than 4 a row: the mean of several items then
misses little.
"""


TAKEAWAY = Takeaway("ribbon", ribbon_table, ribbon_print)
"""The ribbon as files: in the browser it moves, on paper it shows the chosen items."""


def ribbon_payload(trace: Trace, focus: Focus, most: int = ENTRIES) -> dict[str, Any]:
    """What the browser needs of one site and layer: `header` (plain values) and `arrays` (NumPy,
    unsigned).

    arrays: `area` [H, Q, K] indices into the grid's areas with `area_weight`, `several` and
    `several_weight` the same of areas of two or more items where there are any, `query` [H, N, K]
    with `query_weight` (coverage), each heaviest first with weight 0 where nothing is left, weights
    stored as `message.quantised`; `area_rest` and `several_rest` [H, Q] and `query_rest` [H, N],
    the weight of what was not kept (none where 8 bits travel); for each field f0 (, f1) `start` and
    `end` of every item in characters and `word`, the first item of every word. `header["id"]`
    changes with the content. Independent of the focused head, items, unit and areas. most: areas,
    and queries, kept of a row at the most (at least 4 all the same). Raises ValueError when the
    memory is not a sequence.
    """
    attention = trace.maps[focus.site]
    if attention.grid.height != 1:
        raise ValueError(
            f"The ribbon needs a memory of one row, but this one has {attention.grid.height}."
        )
    arrays = _attention_arrays(attention, focus.layer, most)
    names = list(dict.fromkeys((attention.query, attention.memory)))
    for number, name in enumerate(names):
        arrays |= {
            f"f{number}.{part}": values for part, values in text_arrays(trace.fields[name]).items()
        }
    before, _, after = caption(trace, replace(focus, head=None)).rpartition("all heads")
    header = {
        "heads": attention.heads,
        "grid": [
            attention.grid.height,
            attention.grid.width,
            attention.grid.max_height,
            attention.grid.max_width,
        ],
        "lit": {"many": TOP, "listed": TOP, "overlap": MAX_OVERLAP},
        "keep": {
            name: arrays[name].shape[-1] for name in ("area", "several", "query") if name in arrays
        },
        "fields": [_field_header(trace.fields[name]) for name in names],
        "query": names.index(attention.query),
        "memory": names.index(attention.memory),
        "colours": HEAD_COLOURS,
        "caption": [before, after],
    }
    return payload(header, arrays)


def _attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    weights_HQA, grid = attention.weights[layer], attention.grid
    roomy = weights_HQA.shape[0] * weights_HQA.shape[1] <= ROOMY
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (ranked, rest) in _ranked(weights_HQA, grid, roomy, most).items():
        index = narrow(ranked.index, max(grid.count, weights_HQA.shape[1]))
        arrays |= {
            name: index,
            f"{name}_weight": quantised(ranked.weight, np.uint16 if roomy else np.uint8),
        }
        if roomy:
            arrays[f"{name}_rest"] = quantised(rest, np.uint16)
    return arrays


def _ranked(
    weights_HQA: FloatArray, grid: AreaGrid, roomy: bool, most: int
) -> dict[str, tuple[Ranked, FloatArray]]:
    """What is kept of areas, of those of several items and of queries, and the weight
    of the rest.
    """
    heads, queries = weights_HQA.shape[:2]
    areas, several = (
        (max(TOP, min(most, ENTRIES // max(heads * queries, 1))),) * 2 if roomy else (3, 1)
    )
    asked = (
        {"area": (areas, 1), "several": (several, 2)}
        if grid.max_width > 1
        else {"area": (areas, 1)}
    )
    found = {}
    for name, (kept, least) in asked.items():
        spans = sent_areas(weights_HQA, grid, ((TOP, MAX_OVERLAP),), kept, least)
        whole_HQ = weights_HQA[..., grid.slab(1, least)[0] :].sum(-1)
        found[name] = spans, np.maximum(whole_HQ - spans.weight.sum(-1), 0)
    attending_kept = max(TOP, min(most, queries, ENTRIES // (heads * grid.width))) if roomy else 2
    return found | {"query": top_queries(weights_HQA, grid, attending_kept)}


def top_queries(weights_HQA: FloatArray, grid: AreaGrid, k: int) -> tuple[Ranked, FloatArray]:
    """The k queries that attend most to every memory item, by coverage, [H, N, k], and the coverage
    by the rest.

    Coverage is the share of a query's attention in areas that hold the item, 0..1. Where no query
    is left the index is 0 and the coverage 0.
    """
    index, weight, rest = [], [], []
    for (
        weights_QA
    ) in weights_HQA:  # a head at a time: of long texts the coverage of all takes a gigabyte
        covered_QN = coverage(weights_QA, grid)
        best = largest(_turned(covered_QN), k)
        index.append(np.maximum(best.index, 0))
        weight.append(best.weight)
        rest.append(np.maximum(covered_QN.sum(0) - best.weight.sum(-1), 0))
    return Ranked(np.stack(index), np.stack(weight)), np.stack(rest)


def _turned(values_QN: FloatArray) -> FloatArray:
    """The transpose, row after row in memory; a few rows at a time take a third of the time of all
    at once.
    """
    turned_NQ = np.empty(values_QN.shape[::-1], np.float32)
    for start in range(0, len(values_QN), 32):
        turned_NQ[:, start : start + 32] = values_QN[start : start + 32].T
    return turned_NQ


def _field_header(field: Field) -> dict[str, Any]:
    """Title, text, and the labels that differ from the text they stand for."""
    pairs = enumerate(zip(field.labels, field.anchors.tolist(), strict=True))
    labels = {item: label for item, (label, (start, end)) in pairs if label != field.raw[start:end]}
    return {"title": title(field), "raw": field.raw, "labels": labels}

"""The token ribbon: point at an item and see the spans every head attends to, or who attends to it.

The interaction happens in the browser (`areaviz/components/ribbon`); this module works out, once
for a site and layer, all it needs. Shapes: H heads, Q queries, A areas, N memory items, K kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.base import Takeaway
from areaviz.drawing.select import known_as
from areaviz.drawing.theme import HEAD_COLOURS
from areaviz.interactive.message import (
    narrow,
    payload,
    quantised,
    sent_areas,
    text_arrays,
    title,
)
from areaviz.interactive.readings import readings
from areaviz.interactive.ribbon_print import ribbon_print
from areaviz.interactive.ribbon_table import TOP, ribbon_table
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import MAX_OVERLAP, Ranked, coverage, largest, shares

ROOMY = 1 << 14
"""Up to this many (head, query) pairs weights travel with 16 bits.

Then at least 4 areas, 4 of several items and 4 queries of each travel. Above it are 8 bits, and 3,
1 and 2 of them, which keeps 4,096 items and 12 heads below 1 MB.
"""
ENTRIES = 1 << 14
"""So many of each kind travel where that is more than 4 a row.

The mean of several items then misses little.
"""
TAKEAWAY = Takeaway(
    name="ribbon",
    table=ribbon_table,
    print=ribbon_print,
    how_to_read=(
        "Point at any part of either text: in the other one lights up what it attends to, or what"
        " attends to it. Every head has a colour; its heaviest area, one item or several neighbours"
        " taken as one, is solid and tinted, lighter ones are thin."
    ),
)
"""The ribbon as files: in the browser it moves, on paper it shows the chosen items."""


def ribbon_payload(
    trace: Trace,
    focus: Focus,
    most: int = ENTRIES,
) -> dict[str, Any]:
    """What the browser needs of one site and layer: `header` (plain values) and `arrays` (NumPy).

    The arrays, all unsigned, weights stored as `message.quantised`:

    - `area` [H, Q, K]: indices into the grid's areas, heaviest first, with `area_weight`, 0 where
      nothing is left; `area_rest` [H, Q]: the weight of what was not kept (none where 8 bits
      travel).
    - `several`: the same of areas of two or more items, where there are any.
    - `query` [H, N, K]: the queries that attend most to an item, by coverage, in the same form.
    - `item` [H, Q, K]: the items with the largest shares of all coverage, in the same form; none
      where 8 bits travel.
    - densest areas and averages, as in `readings.Readings`.
    - for each field f0 (, f1) `start` and `end` of every item in characters, and `word`, the first
      item of every word.

    They depend on nothing of the focus but its site and layer.

    Args:
        most: areas, and queries, kept of a row at the most; at least 4 all the same.

    Raises:
        ValueError: when the memory is not a sequence.
    """
    attention = trace.maps[focus.site]
    if attention.grid.height != 1:
        raise ValueError(
            f"The ribbon needs a memory of one row, but this one has {attention.grid.height}."
        )
    arrays = _attention_arrays(attention, focus.layer, most)
    names = list(dict.fromkeys((attention.query, attention.memory)))
    fields = [known_as(trace, name) for name in names]
    read = readings(attention, focus.layer, trace.fields[attention.query])
    arrays |= read.arrays
    for number, field in enumerate(fields):
        for part, values in text_arrays(field).items():
            arrays[f"f{number}.{part}"] = values
    return payload(
        trace,
        focus,
        arrays,
        {
            "many": TOP,
            "listed": TOP,
            "overlap": MAX_OVERLAP,
        },
        fields=[_field_header(field) for field in fields],
        query=names.index(attention.query),
        memory=names.index(attention.memory),
        colours=HEAD_COLOURS,
        **read.header,
    )


def _attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    weights_HQA, grid = attention.weights[layer], attention.grid
    heads, queries = weights_HQA.shape[:2]
    roomy = heads * queries <= ROOMY
    areas, several, attending = 3, 1, 2
    if roomy:
        areas = several = max(TOP, min(most, ENTRIES // max(heads * queries, 1)))
        attending = max(TOP, min(most, queries, ENTRIES // (heads * grid.width)))
    found = {"area": _top_spans(weights_HQA, grid, areas, 1)}
    if grid.max_width > 1:
        found["several"] = _top_spans(weights_HQA, grid, several, 2)
    found["query"] = top_queries(weights_HQA, grid, attending)
    if roomy:
        received = max(TOP, min(most, grid.width, ENTRIES // max(heads * queries, 1)))
        found["item"] = top_items(weights_HQA, grid, received)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (ranked, rest) in found.items():
        arrays[name] = narrow(ranked.index, max(grid.count, queries, grid.items))
        arrays[f"{name}_weight"] = quantised(ranked.weight, np.uint16 if roomy else np.uint8)
        if roomy:
            arrays[f"{name}_rest"] = quantised(rest, np.uint16)
    return arrays


def _top_spans(
    weights_HQA: FloatArray, grid: AreaGrid, kept: int, min_size: int
) -> tuple[Ranked, FloatArray]:
    """The spans that are kept of every query, and the weight of the rest."""
    spans = sent_areas(
        weights_HQA,
        grid,
        ((TOP, MAX_OVERLAP),),
        kept,
        min_size,
    )
    whole_HQ = weights_HQA[..., grid.slab(1, min_size)[0] :].sum(-1)
    return spans, np.maximum(whole_HQ - spans.weight.sum(-1), 0)


def top_queries(
    weights_HQA: FloatArray,
    grid: AreaGrid,
    k: int,
) -> tuple[Ranked, FloatArray]:
    """The k queries that attend most to every memory item, and the coverage by the rest.

    Coverage is the share of a query's attention in areas that hold the item, 0..1.

    Returns:
        Queries and their coverage [H, N, k], 0 where no query is left; the rest [H, N].
    """
    index, weight, rest = [], [], []
    # A head at a time: of long texts the coverage of all takes a gigabyte.
    for weights_QA in weights_HQA:
        covered_QN = coverage(weights_QA, grid)
        best = largest(_transposed(covered_QN), k)
        index.append(np.maximum(best.index, 0))
        weight.append(best.weight)
        rest.append(np.maximum(covered_QN.sum(0) - best.weight.sum(-1), 0))
    return Ranked(np.stack(index), np.stack(weight)), np.stack(rest)


def top_items(weights_HQA: FloatArray, grid: AreaGrid, k: int) -> tuple[Ranked, FloatArray]:
    """The k items with the largest shares of every query [H, Q, k], and the share of the rest."""
    shares_HQN = shares(coverage(weights_HQA, grid))
    best = largest(shares_HQN, k)
    rest_HQ = np.maximum(shares_HQN.sum(-1) - best.weight.sum(-1), 0)
    return Ranked(np.maximum(best.index, 0), best.weight), rest_HQ


def _transposed(values_QN: FloatArray) -> FloatArray:
    """The transpose, row after row in memory.

    A few rows at a time take a third of the time of all at once.
    """
    transposed_NQ = np.empty(values_QN.shape[::-1], np.float32)
    for start in range(0, len(values_QN), 32):
        transposed_NQ[:, start : start + 32] = values_QN[start : start + 32].T
    return transposed_NQ


def _field_header(field: Field) -> dict[str, Any]:
    """Title, text, and the labels that differ from the text they stand for."""
    labels = {}
    for item, (start, end) in enumerate(field.anchors.tolist()):
        if field.labels[item] != field.raw[start:end]:
            labels[item] = field.labels[item]
    return {
        "title": title(field),
        "raw": field.raw,
        "labels": labels,
    }

"""Token ribbon: users point at an item and see the spans it attends to, or what attends to it.

The interaction runs in the browser (`ribbon.js`). `make_ribbon_payload` computes the data that it
needs, once per site and layer. Shapes: H heads, Q queries, A areas, N memory items, K kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.draw.select import get_display_field
from areaviz.draw.theme import HEAD_COLOURS
from areaviz.draw.view import Download
from areaviz.texts.catalogue import message
from areaviz.trace.areas import (
    MAX_OVERLAP,
    AreaGrid,
    FloatArray,
    Ranked,
    coverage_shares,
    largest_entries,
    sum_coverage,
)
from areaviz.trace.changes import Hide
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import (
    choose_opening_items,
    choose_sent_areas,
    make_payload,
    make_text_arrays,
    make_title,
    quantise,
    shrink_integers,
)
from areaviz.views.ribbon.print import draw_ribbon
from areaviz.views.ribbon.table import TOP, list_readings, list_unsure_items, tabulate_ribbon

ROOMY = 1 << 14
"""Maximum number of (head, query) pairs for which weights are sent with 16 bits.

Each row then has at least 4 areas, 4 areas of several items and 4 queries. Beyond the maximum,
weights have 8 bits, and each row has 3 areas, 1 area of several items and 2 queries. The data of
4,096 items and 12 heads then stay below 1 MB.
"""
ENTRIES = 1 << 14
"""Number of entries of each kind to send, if this gives more than 4 per row.

The number is large enough that little is missing from the mean over several items.
"""
RIBBON_TAKEAWAY = Download(
    name="ribbon",
    table=tabulate_ribbon,
    print=draw_ribbon,
    how_to_read=message(
        "Hover over any word to see what it attends to, or what attends to it, in the other text."
        " Each head has a colour. A bar is the head's top area: one item, or several neighbours"
        " taken as one. Its thread is as thick as the area's weight."
    ),
)
"""The ribbon as files: interactive in the browser, with the selected items in print."""


def make_ribbon_payload(trace: Trace, focus: Focus, most: int = ENTRIES) -> dict[str, Any]:
    """Build the data of one site and layer for the browser.

    The result has a `header` of plain values and `arrays` (NumPy, all unsigned, weights stored as
    in `message.quantise`):

    - `area` and `area_weight` [H, Q, K]: indices into the grid's areas, heaviest first, and their
      weights. The weight is 0 after the last area.
    - `area_rest` [H, Q]: the total weight of the areas that were not kept. It is left out if
      weights have 8 bits.
    - `several` and its two arrays: the same for areas of two or more items, if there are any.
    - `query` and its two arrays, [H, N, K] and [H, N]: the queries whose areas cover an item most.
    - `item` and its two arrays: the items with the largest shares of a query's coverage. They are
      left out if weights have 8 bits.
    - smallest areas and averages, see `Readings`.
    - `f0.start`, `f0.end`, `f0.word`: positions of the items and words of the first field, see
      `message.make_text_arrays`. A second field has `f1`.

    The data depend only on the site and layer of the focus.

    Args:
        trace: the trace.
        focus: names the site and layer.
        most: maximum number of areas, and of queries, per row. At least 4 of each are kept.

    Raises:
        ValueError: the memory is not a sequence.
    """
    attention = trace.maps[focus.site]
    if attention.grid.height != 1:
        raise ValueError(
            f"The ribbon needs a memory of one row, but this one has {attention.grid.height}."
        )
    arrays = _make_attention_arrays(attention, focus.layer, most)
    names = list(dict.fromkeys((attention.query, attention.memory)))
    fields = [get_display_field(trace, name) for name in names]
    read = list_readings(attention, focus.layer, trace.fields[attention.query])
    arrays |= read.arrays
    for number, field in enumerate(fields):
        for part, values in make_text_arrays(field).items():
            arrays[f"f{number}.{part}"] = values
    return make_payload(
        trace,
        focus,
        arrays,
        {
            "many": TOP,
            "listed": TOP,
            "overlap": MAX_OVERLAP,
            "items": choose_opening_items(trace, attention, focus.layer),
        },
        fields=[
            _make_field_header(field)
            | _make_unsure_header(trace, name)
            | _make_hidden_header(trace, name)
            for name, field in zip(names, fields, strict=True)
        ],
        query=names.index(attention.query),
        memory=names.index(attention.memory),
        colours=HEAD_COLOURS,
        **read.header,
    )


def _make_attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    weights_HQA, grid = attention.weights[layer], attention.grid
    heads, queries = weights_HQA.shape[:2]
    roomy = heads * queries <= ROOMY
    areas, several, attending = 3, 1, 2
    if roomy:
        areas = several = max(TOP, min(most, ENTRIES // max(heads * queries, 1)))
        attending = max(TOP, min(most, queries, ENTRIES // (heads * grid.width)))
    found = {"area": _find_top_spans(weights_HQA, grid, areas, 1)}
    if grid.max_width > 1:
        found["several"] = _find_top_spans(weights_HQA, grid, several, 2)
    found["query"] = find_top_queries(weights_HQA, grid, attending)
    if roomy:
        received = max(TOP, min(most, grid.width, ENTRIES // max(heads * queries, 1)))
        found["item"] = find_top_items(weights_HQA, grid, received)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (ranked, rest) in found.items():
        arrays[name] = shrink_integers(ranked.index, max(grid.count, queries, grid.items))
        arrays[f"{name}_weight"] = quantise(ranked.weight, np.uint16 if roomy else np.uint8)
        if roomy:
            arrays[f"{name}_rest"] = quantise(rest, np.uint16)
    return arrays


def _find_top_spans(
    weights_HQA: FloatArray, grid: AreaGrid, kept: int, min_size: int
) -> tuple[Ranked, FloatArray]:
    """Return the top spans of every query, and the total weight [H, Q] of its other spans."""
    spans = choose_sent_areas(weights_HQA, grid, ((TOP, MAX_OVERLAP),), kept, min_size)
    whole_HQ = weights_HQA[..., grid.slab(1, min_size)[0] :].sum(-1)
    return spans, np.maximum(whole_HQ - spans.weight.sum(-1), 0)


def find_top_queries(weights_HQA: FloatArray, grid: AreaGrid, k: int) -> tuple[Ranked, FloatArray]:
    """Return the k queries that attend most to every memory item, and the coverage by the rest.

    Coverage is the share of a query's attention to areas that contain the item, 0..1.

    Returns:
        The queries and their coverage [H, N, k], padded with 0, and the rest [H, N].
    """
    index, weight, rest = [], [], []
    # Process one head at a time, because the coverage of all heads takes a gigabyte for long texts.
    for weights_QA in weights_HQA:
        covered_QN = sum_coverage(weights_QA, grid)
        best = largest_entries(_transpose(covered_QN), k)
        index.append(np.maximum(best.index, 0))
        weight.append(best.weight)
        rest.append(np.maximum(covered_QN.sum(0) - best.weight.sum(-1), 0))
    return Ranked(np.stack(index), np.stack(weight)), np.stack(rest)


def find_top_items(weights_HQA: FloatArray, grid: AreaGrid, k: int) -> tuple[Ranked, FloatArray]:
    """Return the k items with the largest shares for every query, and the share of the rest.

    Returns:
        The items and their shares [H, Q, k], padded with 0, and the rest [H, Q].
    """
    index, weight, rest = [], [], []
    # Process one head at a time, because all shares would need as much memory as the weights.
    for weights_QA in weights_HQA:
        shares_QN = coverage_shares(sum_coverage(weights_QA, grid))
        best = largest_entries(shares_QN, k)
        index.append(np.maximum(best.index, 0))
        weight.append(best.weight)
        rest.append(np.maximum(shares_QN.sum(-1) - best.weight.sum(-1), 0))
    return Ranked(np.stack(index), np.stack(weight)), np.stack(rest)


def _transpose(values_QN: FloatArray) -> FloatArray:
    """Return the transpose [N, Q], contiguous in memory.

    Copying 32 rows at a time is three times as fast as copying the whole array.
    """
    transposed_NQ = np.empty(values_QN.shape[::-1], np.float32)
    for start in range(0, len(values_QN), 32):
        transposed_NQ[:, start : start + 32] = values_QN[start : start + 32].T
    return transposed_NQ


def _make_field_header(field: Field) -> dict[str, Any]:
    """Return the title and text of a field, and the labels of items that differ from their text."""
    labels = {}
    for item, (start, end) in enumerate(field.anchors.tolist()):
        if field.labels[item] != field.raw[start:end]:
            labels[item] = field.labels[item]
    return {"title": make_title(field), "raw": field.raw, "labels": labels}


def _make_hidden_header(trace: Trace, name: str) -> dict[str, Any]:
    """Return the header entry with the items that a change hides from the model, or {}."""
    hidden: set[int] = set()
    for change in trace.request.changes:
        if isinstance(change, Hide) and change.field == name:
            hidden.update(change.items)
    return {"hidden": sorted(hidden)} if hidden else {}


def _make_unsure_header(trace: Trace, name: str) -> dict[str, Any]:
    """Return the header entry with the uncertain items of the output, or {} for other fields."""
    return {"unsure": list_unsure_items(trace, name)} if name == trace.output.field else {}

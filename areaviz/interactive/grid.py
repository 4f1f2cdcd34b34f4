"""The image grid: point at a word or a cell and see, for every head, the areas of the picture it
attends to.

The interaction happens in the browser (`areaviz/components/grid`); this module works out, once for
a site and layer, all it needs. Shapes: H heads, Q queries, A areas, N cells, K kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.base import Takeaway, caption
from areaviz.drawing.theme import HEAD_COLOURS, SEQUENCE_STOPS
from areaviz.interactive.grid_arrays import (
    KEPT,
    OVERLAPS,
    SURE,
    chosen_arrays,
    heaviest_left,
    kept_areas,
    stored_shares,
    webp,
)
from areaviz.interactive.grid_panel import SHOWN, is_coarse
from areaviz.interactive.grid_print import grid_print
from areaviz.interactive.grid_table import TOP, grid_table
from areaviz.interactive.message import narrow, payload, quantised, text_arrays, title
from areaviz.trace.picture import Picture
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import MAX_OVERLAP

TAKEAWAY = Takeaway("grid", grid_table, grid_print)
"""The grid as files: in the browser it moves, on paper it shows the chosen items."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Whether the focused site attends to the cells of a picture, from a text or from the same
    picture.
    """
    attention = trace.maps.get(focus.site)
    if (
        attention is None
        or trace.request.picture is None
        or trace.fields[attention.memory].kind != "picture"
    ):
        return False
    return trace.fields[attention.query].kind == "text" or attention.query == attention.memory


def grid_payload(trace: Trace, focus: Focus, most: int = KEPT) -> dict[str, Any]:
    """What the browser needs of one site and layer: `header` (plain values) and `arrays` (NumPy,
    unsigned).

    arrays: `area` [H, Q, K] indices into the grid's areas with `area_weight`, `several` and
    `several_weight` the same of areas of two or more cells where there are any, as `kept_areas`
    orders them; `area_left` and `several_left` [H, Q], the weight of the heaviest area that was not
    kept; `share` [H, Q, N], see `stored_shares`; `cells` [N, 4] in pixels; `picture`, a WebP file;
    of hard attention `read` and `read_weight` [H, Q]; and of a text that attends `start`, `end` and
    `word` as in the ribbon. `header["id"]` changes with the content. Independent of the focused
    head, items, unit and areas. most: areas kept of a query at the most. Raises ValueError where
    `fits` does not hold.
    """
    if not fits(trace, focus):
        raise ValueError(f'The site "{focus.site}" does not attend to cells of a picture.')
    attention, picture = trace.maps[focus.site], trace.request.picture
    assert picture is not None
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    arrays = _attention_arrays(attention, focus.layer, min(most, KEPT))
    arrays |= {
        "cells": narrow(memory.anchors, max(picture.width, picture.height)),
        "picture": webp(picture),
    }
    if query.kind == "text":
        arrays |= text_arrays(query)
    before, _, after = caption(trace, replace(focus, head=None)).rpartition("all heads")
    header = {
        "heads": attention.heads,
        "grid": [
            attention.grid.height,
            attention.grid.width,
            attention.grid.max_height,
            attention.grid.max_width,
        ],
        "lit": {
            "many": SHOWN,
            "most": TOP,
            "listed": SURE,
            "overlap": MAX_OVERLAP,
            "step": OVERLAPS[1],
        },
        "keep": {name: arrays[name].shape[-1] for name in ("area", "several") if name in arrays},
        "text": _text_header(query) if query.kind == "text" else None,
        "picture": _picture_header(picture, memory),
        "colours": HEAD_COLOURS,
        "heat": [colour for _, colour in SEQUENCE_STOPS],
        "caption": [before, after],
    }
    return payload(header, arrays)


def _attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {"share": stored_shares(attention, layer)}
    for name, least in (("area", 1), ("several", 2)):
        if least <= attention.grid.sizes().max():
            kept = kept_areas(attention, layer, least, most)
            left = heaviest_left(attention, layer, kept, least)
            weights = {
                f"{name}_weight": quantised(kept.weight, np.uint16),
                f"{name}_left": quantised(left, np.uint16),
            }
            arrays |= {name: narrow(kept.index, attention.grid.count), **weights}
    return arrays | chosen_arrays(attention, layer)


def _text_header(field: Field) -> dict[str, Any]:
    return {"title": title(field), "raw": field.raw, "labels": list(field.labels)}


def _picture_header(picture: Picture, field: Field) -> dict[str, Any]:
    """digest: what linked grids know the picture by. coarse: whether its pixels are to be seen as
    squares.
    """
    return {
        "title": title(field),
        "size": [picture.width, picture.height],
        "digest": picture.digest,
        "coarse": is_coarse(picture),
    }

"""The image grid: point at a word or a cell and see the areas of the picture every head attends to.

The interaction happens in the browser (`areaviz/components/grid`); this module works out, once for
a site and layer, all it needs. Shapes: H heads, Q queries, A areas, N cells, K kept.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.drawing.base import Takeaway
from areaviz.drawing.select import known_as
from areaviz.drawing.theme import HEAD_COLOURS, SEQUENCE_STOPS
from areaviz.interactive.grid_print import SHOWN, grid_print, is_coarse
from areaviz.interactive.grid_table import TOP, grid_table
from areaviz.interactive.message import (
    narrow,
    payload,
    quantised,
    sent_areas,
    text_arrays,
    title,
)
from areaviz.interactive.readings import readings
from areaviz.trace.picture import Picture
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import MAX_OVERLAP, Ranked

SURE, KEPT = 4, 20
"""Of a head's areas that can be drawn, how many are exact at any overlap, and how many are sent."""
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much areas of a head may overlap: what can be asked for."""
# How many areas at each of OVERLAPS, the usual one first; the heaviest, which come last, are those
# of 1.
_WANTED = ((TOP, MAX_OVERLAP), (SURE, 0.0), (SURE, 0.25), (SURE, 0.75))
TAKEAWAY = Takeaway(
    name="grid",
    table=grid_table,
    print=grid_print,
    how_to_read=(
        "Point at a word or at the picture. A frame is an area that a head attends to, with the"
        " head's number in its corner; the tint is the share of the attention that every cell"
        " received, all areas together."
    ),
)
"""The grid as files: in the browser it moves, on paper it shows the chosen items."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Whether the site attends to cells of a picture, from a text or from the same picture."""
    attention = trace.maps.get(focus.site)
    if attention is None or trace.request.picture is None:
        return False
    if trace.fields[attention.memory].kind != "picture":
        return False
    return trace.fields[attention.query].kind == "text" or attention.query == attention.memory


def grid_payload(
    trace: Trace,
    focus: Focus,
    most: int = KEPT,
) -> dict[str, Any]:
    """What the browser needs of one site and layer: `header` (plain values) and `arrays` (NumPy).

    The arrays, all unsigned:

    - `area` [H, Q, K]: indices into the grid's areas with `area_weight`, as `kept_areas` orders
      them; `area_left` [H, Q]: the weight of the heaviest area that was not kept.
    - `several`: the same of areas of two or more cells, where there are any.
    - `share` [H, Q, N]: see `stored_shares`.
    - `cells` [N, 4] in pixels, and `picture`, a WebP file.
    - of hard attention `read` and `read_weight` [H, Q].
    - of a text that attends `start`, `end` and `word`, as in the ribbon.
    - densest areas and averages, as in `readings.Readings`.

    They depend on nothing of the focus but its site and layer.

    Args:
        most: areas kept of a query at the most.

    Raises:
        ValueError: where `fits` does not hold.
    """
    picture = trace.request.picture
    if picture is None or not fits(trace, focus):
        raise ValueError(f'The site "{focus.site}" does not attend to cells of a picture.')
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    read = readings(attention, focus.layer, query)
    arrays = _attention_arrays(attention, focus.layer, min(most, KEPT)) | read.arrays
    arrays["cells"] = narrow(memory.anchors, max(picture.width, picture.height))
    arrays["picture"] = webp(picture)
    text = None
    if query.kind == "text":
        arrays |= text_arrays(query)
        text = {
            "title": title(known_as(trace, attention.query)),
            "raw": query.raw,
            "labels": list(query.labels),
        }
    return payload(
        trace,
        focus,
        arrays,
        {
            "many": SHOWN,
            "most": TOP,
            "listed": SURE,
            "overlap": MAX_OVERLAP,
            "step": OVERLAPS[1],
        },
        text=text,
        picture={
            "title": title(memory),
            "size": [picture.width, picture.height],
            # What linked grids know the picture by.
            "digest": picture.digest,
            "coarse": is_coarse(picture),
        },
        colours=HEAD_COLOURS,
        heat=[colour for _, colour in SEQUENCE_STOPS],
        **read.header,
    )


def _attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {"share": stored_shares(attention, layer)}
    largest = attention.grid.sizes().max()
    for name, least in (("area", 1), ("several", 2)):
        if least <= largest:
            kept = kept_areas(attention, layer, least, most)
            left = heaviest_left(attention, layer, kept, least)
            arrays[name] = narrow(kept.index, attention.grid.count)
            arrays[f"{name}_weight"] = quantised(kept.weight, np.uint16)
            arrays[f"{name}_left"] = quantised(left, np.uint16)
    if attention.chosen is not None:
        read_HQ = attention.chosen[layer]
        weight_HQ1 = np.take_along_axis(attention.weights[layer], read_HQ[..., None], -1)
        arrays["read"] = read_HQ.astype(np.uint32)
        arrays["read_weight"] = quantised(weight_HQ1[..., 0], np.uint16)
    return arrays


def kept_areas(
    attention: AttentionMap,
    layer: int,
    min_size: int = 1,
    kept: int = KEPT,
) -> Ranked:
    """What is sent of every query's areas: indices and weights [H, Q, K], 0 where nothing is left.

    Whoever leaves out of these the ones that overlap a heavier one by more than 0.5 finds the TOP
    heaviest that `top_areas` finds among all areas, and at each other one of OVERLAPS at least
    SURE. The places left go to the heaviest of the rest, so that the mean of several queries misses
    little.

    Args:
        min_size: areas of fewer cells are left out.
    """
    return sent_areas(
        attention.weights[layer],
        attention.grid,
        _WANTED,
        kept,
        min_size,
    )


def heaviest_left(
    attention: AttentionMap, layer: int, kept: Ranked, min_size: int = 1
) -> FloatArray:
    """Of every query the weight of its heaviest area that is not kept: [H, Q], 0 for none."""
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    np.put_along_axis(weights_HQA, kept.index, 0, -1)
    left_HQ: FloatArray = weights_HQA.max(-1)
    return left_HQ


def stored_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Item shares with each row's largest as 1, quantised: uint8 [H, Q, N].

    A row divided by its sum is back.
    """
    stored = []
    # Head by head: of all at once each step takes as much memory as the weights.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        largest_Q1 = shares_QN.max(-1, keepdims=True)
        relative_QN = np.zeros_like(shares_QN)
        np.divide(shares_QN, largest_Q1, out=relative_QN, where=largest_Q1 > 0)
        stored.append(quantised(relative_QN, np.uint8))
    return np.stack(stored)


def webp(picture: Picture) -> npt.NDArray[np.uint8]:
    """A picture as the bytes of a WebP file without loss.

    It is no larger than a PNG, and made in a tenth of the time.
    """
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels).save(
        buffer,
        "WEBP",
        lossless=True,
        quality=0,
        method=0,
    )
    return np.frombuffer(buffer.getvalue(), np.uint8)

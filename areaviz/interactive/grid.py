"""Image grid: users point at a word or cell and see the areas of the picture that heads attend to.

The interaction runs in the browser (`areaviz/components/grid`). This module computes the data that
it needs, once per site and layer. Shapes: H heads, Q queries, A areas, N cells, K kept.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.draw.select import get_display_field
from areaviz.draw.theme import HEAD_COLOURS, SEQUENCE_STOPS
from areaviz.draw.view import Download
from areaviz.interactive.default_focus import choose_opening_items
from areaviz.interactive.grid_print import SHOWN, draw_grid, is_coarse
from areaviz.interactive.grid_table import TOP, tabulate_grid
from areaviz.interactive.message import (
    choose_sent_areas,
    make_payload,
    make_text_arrays,
    make_title,
    quantise,
    shrink_integers,
)
from areaviz.interactive.other_readings import list_readings
from areaviz.texts.catalogue import message
from areaviz.trace.areas import MAX_OVERLAP, FloatArray, Ranked
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus, Picture

SURE, KEPT = 4, 20
"""Number of areas per head that are exact at any overlap, and number sent to the browser."""
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Values of the maximum overlap that users can choose."""
# Pairs of a number of areas and their maximum overlap, the default overlap first. Overlap 1 needs
# no entry, because the top areas are added at the end.
WANTED = ((TOP, MAX_OVERLAP), (SURE, 0.0), (SURE, 0.25), (SURE, 0.75))
TAKEAWAY = Download(
    name="grid",
    table=tabulate_grid,
    print=draw_grid,
    how_to_read=message(
        "Hover over a word or over the picture. A frame is an area that a head attends to,"
        " with the head's number in its corner. The tint is the share of attention that each"
        " cell receives, summed over areas."
    ),
)
"""The grid as files: interactive in the browser, with the selected items in print."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the site attends to cells of a picture, from a text or from that picture."""
    attention = trace.maps.get(focus.site)
    if attention is None or trace.request.picture is None:
        return False
    if not trace.fields[attention.memory].is_picture:
        return False
    return trace.fields[attention.query].is_text or attention.query == attention.memory


def make_grid_payload(
    trace: Trace,
    focus: Focus,
    most: int = KEPT,
) -> dict[str, Any]:
    """Build the data of one site and layer for the browser.

    The result has a `header` of plain values and `arrays` (NumPy, all unsigned):

    - `area` and `area_weight` [H, Q, K]: indices into the grid's areas, and their weights, in the
      order of `choose_areas`.
    - `area_left` [H, Q]: the weight of the heaviest area that was not kept.
    - `several`, `several_weight`, `several_left`: the same three arrays for areas of two or more
      cells, if the grid has such areas.
    - `share` [H, Q, N]: see `quantise_shares`.
    - `cells` [N, 4]: left, top, right and bottom of each cell in pixels.
    - `picture`: the bytes of a WebP file.
    - `read`, `read_weight` [H, Q]: the area that hard attention read, and its weight.
    - `start`, `end`, `word`: positions of a text that attends, see `message.make_text_arrays`.
    - smallest areas and averages, see `readings.Readings`.

    The data depend only on the site and layer of the focus.

    Args:
        trace: a trace with a picture.
        focus: names the site and layer.
        most: maximum number of areas per query.

    Raises:
        ValueError: `fits` is false for the trace and focus.
    """
    picture = trace.request.picture
    if picture is None or not fits(trace, focus):
        raise ValueError(f'The site "{focus.site}" does not attend to cells of a picture.')
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    read = list_readings(attention, focus.layer, query)
    arrays = _make_attention_arrays(attention, focus.layer, min(most, KEPT)) | read.arrays
    arrays["cells"] = shrink_integers(memory.anchors, max(picture.width, picture.height))
    arrays["picture"] = encode_webp(picture)
    text = None
    if query.is_text:
        arrays |= make_text_arrays(query)
        text = {
            "title": make_title(get_display_field(trace, attention.query)),
            "raw": query.raw,
            "labels": list(query.labels),
        }
    return make_payload(
        trace,
        focus,
        arrays,
        {
            "many": SHOWN,
            "most": TOP,
            "listed": SURE,
            "overlap": MAX_OVERLAP,
            "items": choose_opening_items(trace, attention, focus.layer),
            "step": OVERLAPS[1],
        },
        text=text,
        picture={
            "title": make_title(memory),
            "size": [picture.width, picture.height],
            # Grids on one page that show the same picture are linked. They compare its digest.
            "digest": picture.digest,
            "coarse": is_coarse(picture),
        },
        colours=HEAD_COLOURS,
        heat=[colour for _, colour in SEQUENCE_STOPS],
        **read.header,
    )


def _make_attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {"share": quantise_shares(attention, layer)}
    largest = attention.grid.sizes().max()
    for name, least in (("area", 1), ("several", 2)):
        if least <= largest:
            kept = choose_areas(attention, layer, least, most)
            left = find_heaviest_left_out(attention, layer, kept, least)
            arrays[name] = shrink_integers(kept.index, attention.grid.count)
            arrays[f"{name}_weight"] = quantise(kept.weight, np.uint16)
            arrays[f"{name}_left"] = quantise(left, np.uint16)
    if attention.chosen is not None:
        read_HQ = attention.chosen[layer]
        weight_HQ1 = np.take_along_axis(attention.weights[layer], read_HQ[..., None], -1)
        arrays["read"] = read_HQ.astype(np.uint32)
        arrays["read_weight"] = quantise(weight_HQ1[..., 0], np.uint16)
    return arrays


def choose_areas(
    attention: AttentionMap,
    layer: int,
    min_size: int = 1,
    kept: int = KEPT,
) -> Ranked:
    """Choose the areas of every query to send to the browser: indices and weights [H, Q, K].

    Users can choose a maximum overlap. An area that overlaps a heavier one by more is then hidden.
    At the default overlap, the `TOP` areas in the browser are the same as among all areas. At each
    other value of `OVERLAPS`, at least the `SURE` top areas are. The remaining places go to the
    heaviest other areas, so that little is missing from the mean over several queries. If a query
    has fewer than K areas, the rest of its row is 0.

    Args:
        attention: the attention map.
        layer: the layer, 0-based.
        min_size: areas with fewer cells are left out.
        kept: number of areas per query.
    """
    return choose_sent_areas(
        attention.weights[layer],
        attention.grid,
        WANTED,
        kept,
        min_size,
    )


def find_heaviest_left_out(
    attention: AttentionMap, layer: int, kept: Ranked, min_size: int = 1
) -> FloatArray:
    """Return the weight of every query's heaviest area that is not kept: [H, Q], or 0 for none."""
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    np.put_along_axis(weights_HQA, kept.index, 0, -1)
    left_HQ: FloatArray = weights_HQA.max(-1)
    return left_HQ


def quantise_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Return item shares relative to the largest share of their row, quantised: uint8 [H, Q, N].

    The browser decodes the values and divides each row by its sum, which restores the shares.
    """
    stored = []
    # Process one head at a time, because all heads would need as much memory as the weights.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        largest_Q1 = shares_QN.max(-1, keepdims=True)
        relative_QN = np.zeros_like(shares_QN)
        np.divide(shares_QN, largest_Q1, out=relative_QN, where=largest_Q1 > 0)
        stored.append(quantise(relative_QN, np.uint8))
    return np.stack(stored)


def encode_webp(picture: Picture) -> npt.NDArray[np.uint8]:
    """Encode a picture as a lossless WebP file.

    It is no larger than a PNG, and encoding takes a tenth of the time.
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

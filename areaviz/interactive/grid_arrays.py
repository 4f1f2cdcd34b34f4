"""What the image grid needs of a layer's weights, found for all queries and heads at once.

Shapes: H heads, Q queries, A areas, N cells, K kept, R some areas.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.interactive.grid_table import TOP
from areaviz.interactive.message import quantised
from areaviz.interactive.sent_areas import sent_areas
from areaviz.trace.picture import Picture
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, FloatArray
from areaviz.trace.weights import MAX_OVERLAP, Ranked

SURE, KEPT = 4, 20
"""Of the areas of a head that can be drawn, how many are exact at any overlap, and how many are
sent.
"""
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much areas of a head may overlap: what can be asked for."""
_WANTED = ((TOP, MAX_OVERLAP), (SURE, 0.0), (SURE, 0.25), (SURE, 0.75))
"""How many areas at each of OVERLAPS, the usual one first; the heaviest, which come last, are those
of 1.
"""


def kept_areas(attention: AttentionMap, layer: int, min_size: int = 1, kept: int = KEPT) -> Ranked:
    """What is sent of every query's areas: index and weight are [H, Q, K], with weight 0 where
    nothing is left.

    Whoever leaves out of these the ones that overlap a heavier one by more than 0.5 finds the TOP
    heaviest that `top_areas` finds among all areas, and at each other one of OVERLAPS at least
    SURE. The places left go to the heaviest of the rest, so that the mean of several queries misses
    little. min_size: areas of fewer cells are left out.
    """
    return sent_areas(attention.weights[layer], attention.grid, _WANTED, kept, min_size)


def heaviest_left(
    attention: AttentionMap, layer: int, kept: Ranked, min_size: int = 1
) -> FloatArray:
    """Of every query the weight of its heaviest area that is not among those kept: [H, Q], 0 where
    there is none.
    """
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    np.put_along_axis(weights_HQA, kept.index, 0, -1)
    left_HQ: FloatArray = weights_HQA.max(-1)
    return left_HQ


def stored_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Item shares with each row's largest as 1, quantised: uint8 [H, Q, N]; a row divided by its
    sum is back.
    """
    # Head by head: of all at once each step takes as much memory as the weights.
    return np.stack(
        [_stored(item_shares(attention, layer, head)) for head in range(attention.heads)]
    )


def _stored(shares_QN: FloatArray) -> npt.NDArray[np.uint8]:
    largest = shares_QN.max(-1, keepdims=True)
    relative = np.divide(shares_QN, largest, out=np.zeros_like(shares_QN), where=largest > 0)
    return quantised(relative, np.uint8)


def webp(picture: Picture) -> npt.NDArray[np.uint8]:
    """A picture as the bytes of a WebP file without loss: no larger than a PNG, and made in a tenth
    of the time.
    """
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels).save(buffer, "WEBP", lossless=True, quality=0, method=0)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def chosen_arrays(attention: AttentionMap, layer: int) -> dict[str, npt.NDArray[Any]]:
    """What hard attention read, and with which probability: [H, Q]; nothing where attention is
    soft.
    """
    if attention.chosen is None:
        return {}
    chosen_HQ = attention.chosen[layer]
    weight_HQ = np.take_along_axis(attention.weights[layer], chosen_HQ[..., None], -1)[..., 0]
    return {"read": chosen_HQ.astype(np.uint32), "read_weight": quantised(weight_HQ, np.uint16)}

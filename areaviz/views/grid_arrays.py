"""What the image grid needs of a layer's weights, found for all queries and heads at once.

Shapes: H heads, Q queries, A areas, N cells, K kept.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.trace.picture import Picture
from areaviz.trace.query import item_shares, top_area_indices
from areaviz.trace.record import AttentionMap
from areaviz.views.ribbon_arrays import Ranked, quantised

SHOWN = 5
KEPT = 12


def kept_areas(attention: AttentionMap, layer: int, min_size: int = 1, kept: int = KEPT) -> Ranked:
    """What is sent of every query's areas: index and weight are [H, Q, K], with weight 0 where nothing is left.

    First the SHOWN heaviest of little overlap, exactly as `top_area_indices` finds them; then the heaviest of the
    rest, so that the mean of several queries misses little. min_size: areas of fewer cells are left out.
    """
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    apart, weight = top_area_indices(replace(attention, weights=weights_HQA[None]), 0, SHOWN)
    apart = np.where(apart < 0, apart[..., :1], apart)  # nothing left: once more the heaviest, at weight 0
    np.put_along_axis(weights_HQA, apart, 0, -1)
    more = min(kept - SHOWN, attention.grid.count)
    rest = np.argpartition(-weights_HQA, more - 1)[..., :more]
    index = np.concatenate([np.maximum(apart, 0), rest], -1)
    return Ranked(index, np.concatenate([weight, np.take_along_axis(weights_HQA, rest, -1)], -1))


def stored_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Item shares with each row's largest as 1, quantised: uint8 [H, Q, N]; a row divided by its sum is back."""
    shares_HQN = np.stack([item_shares(attention, layer, head) for head in range(attention.heads)])
    largest = shares_HQN.max(-1, keepdims=True)
    relative = np.divide(shares_HQN, largest, out=np.zeros_like(shares_HQN), where=largest > 0)
    return quantised(relative, np.uint8)


def png(picture: Picture) -> npt.NDArray[np.uint8]:
    """A picture as the bytes of a PNG file."""
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels).save(buffer, "PNG", optimize=True)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def chosen_arrays(attention: AttentionMap, layer: int) -> dict[str, npt.NDArray[Any]]:
    """What hard attention read, and with which probability: [H, Q]; nothing where attention is soft."""
    if attention.chosen is None:
        return {}
    chosen_HQ = attention.chosen[layer]
    weight_HQ = np.take_along_axis(attention.weights[layer], chosen_HQ[..., None], -1)[..., 0]
    return {"read": chosen_HQ.astype(np.uint32), "read_weight": quantised(weight_HQ, np.uint16)}

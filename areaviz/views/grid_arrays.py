"""What the image grid needs of a layer's weights, found for all queries and heads at once.

Shapes: H heads, Q queries, A areas, N cells, K kept, R some areas.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.trace.areas import AreaGrid
from areaviz.trace.picture import Picture
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, FloatArray, IntArray
from areaviz.views.message import quantised
from areaviz.views.ribbon_arrays import Ranked, with_heaviest

SHOWN, SURE, KEPT = 5, 4, 20
"""Areas of a head that can be drawn; how many of them are exact at any overlap; and how many are sent."""
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much areas of a head may overlap: what can be asked for."""
_WANTED = ((2, SHOWN), (0, SURE), (1, SURE), (3, SURE))
"""Which of OVERLAPS, the usual one first, and how many areas of it; the heaviest, last of all, are those of 1."""
_CHUNK = 256  # areas compared at once with all others
_LISTED = 4096  # up to so many areas, all pairs of them are worked out once: 16 MB


def kept_areas(attention: AttentionMap, layer: int, min_size: int = 1, kept: int = KEPT) -> Ranked:
    """What is sent of every query's areas: index and weight are [H, Q, K], with weight 0 where nothing is left.

    Whoever leaves out of these the ones that overlap a heavier one by more than 0.5 finds the SHOWN heaviest that
    `top_area_indices` finds among all areas, and at each other one of OVERLAPS at least SURE. The places left go to
    the heaviest of the rest, so that the mean of several queries misses little. min_size: areas of fewer cells are
    left out.
    """
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    apart = [np.stack([_apart(w_QA, attention.grid, step, k) for w_QA in weights_HQA]) for step, k in _WANTED]
    return with_heaviest(weights_HQA, np.concatenate(apart, -1), kept)


def heaviest_left(attention: AttentionMap, layer: int, kept: Ranked, min_size: int = 1) -> FloatArray:
    """Of every query the weight of its heaviest area that is not among those kept: [H, Q], 0 where there is none."""
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    np.put_along_axis(weights_HQA, kept.index, 0, -1)
    left_HQ: FloatArray = weights_HQA.max(-1)
    return left_HQ


@lru_cache(maxsize=2)
def closeness(grid: AreaGrid) -> npt.NDArray[np.uint8]:
    """How many of OVERLAPS the intersection over union of two areas exceeds: uint8 [A, A]."""
    table_A4 = grid.table()
    return np.concatenate([_close(part, table_A4) for part in np.split(table_A4, range(_CHUNK, len(table_A4), _CHUNK))])


def _close(some_R4: IntArray, all_A4: IntArray) -> npt.NDArray[np.uint8]:
    shared_RA = np.ones((len(some_R4), len(all_A4)), np.float32)
    for start, extent in ((0, 2), (1, 3)):
        last_RA = np.minimum.outer(some_R4[:, start] + some_R4[:, extent], all_A4[:, start] + all_A4[:, extent])
        shared_RA *= np.maximum(last_RA - np.maximum.outer(some_R4[:, start], all_A4[:, start]), 0)
    sizes_RA = np.add.outer(some_R4[:, 2] * some_R4[:, 3], all_A4[:, 2] * all_A4[:, 3])
    exceeded_RA: npt.NDArray[np.uint8] = np.searchsorted(OVERLAPS, shared_RA / (sizes_RA - shared_RA)).astype(np.uint8)
    return exceeded_RA


def _apart(weights_QA: FloatArray, grid: AreaGrid, step: int, k: int) -> IntArray:
    """The heaviest area of every query, the heaviest that is no rival of it, and so on: [Q, k], -1 for none left.

    Rivals exceed more than `step` of OVERLAPS.
    """
    left_QA, rows = weights_QA.copy(), np.arange(len(weights_QA))
    found_QK = np.full((len(rows), k), -1, np.int64)
    for rank in range(k):
        best_Q = left_QA.argmax(1)
        found_QK[:, rank] = np.where(left_QA[rows, best_Q] > 0, best_Q, -1)
        for start in range(0, len(rows), _CHUNK):
            chosen_R = best_Q[start : start + _CHUNK]
            left_QA[start : start + _CHUNK][_closeness(grid, chosen_R) > step] = 0
    return found_QK


def _closeness(grid: AreaGrid, chosen_R: IntArray) -> npt.NDArray[np.uint8]:
    """How many of OVERLAPS some areas exceed with all: uint8 [R, A]; a table of all pairs grows as the square."""
    if grid.count <= _LISTED:
        return closeness(grid)[chosen_R]
    table_A4 = grid.table()
    return _close(table_A4[chosen_R], table_A4)


def stored_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Item shares with each row's largest as 1, quantised: uint8 [H, Q, N]; a row divided by its sum is back."""
    shares_HQN = np.stack([item_shares(attention, layer, head) for head in range(attention.heads)])
    largest = shares_HQN.max(-1, keepdims=True)
    relative = np.divide(shares_HQN, largest, out=np.zeros_like(shares_HQN), where=largest > 0)
    return quantised(relative, np.uint8)


def webp(picture: Picture) -> npt.NDArray[np.uint8]:
    """A picture as the bytes of a WebP file without loss: no larger than a PNG, and made in a tenth of the time."""
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels).save(buffer, "WEBP", lossless=True, quality=0, method=0)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def chosen_arrays(attention: AttentionMap, layer: int) -> dict[str, npt.NDArray[Any]]:
    """What hard attention read, and with which probability: [H, Q]; nothing where attention is soft."""
    if attention.chosen is None:
        return {}
    chosen_HQ = attention.chosen[layer]
    weight_HQ = np.take_along_axis(attention.weights[layer], chosen_HQ[..., None], -1)[..., 0]
    return {"read": chosen_HQ.astype(np.uint32), "read_weight": quantised(weight_HQ, np.uint16)}

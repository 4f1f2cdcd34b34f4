"""Which areas travel to the browser: those that can be asked for first, then the heaviest others.

Shapes: H heads, Q queries, A areas, K kept, C candidates, R rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import FloatArray, IntArray
from areaviz.trace.weights import Ranked, top_areas


def sent_areas(
    weights_HQA: FloatArray,
    grid: AreaGrid,
    wanted: Sequence[tuple[int, float]],
    kept: int,
    min_size: int = 1,
) -> Ranked:
    """Every query's heaviest areas at each overlap that can be asked for, then the heaviest others.

    Args:
        weights_HQA: of the grid's areas.
        grid: where they lie.
        wanted: how many areas, and how much they may overlap, the usual first.
        kept: how many there are in all, where there are so many.
        min_size: areas of fewer items are left out.

    Returns:
        Indices and weights [H, Q, K]; where nothing is left the index is 0 and the weight 0.
    """
    found = [top_areas(weights_HQA, grid, min(k, kept), overlap, min_size) for k, overlap in wanted]
    if len(wanted) == 1 and kept <= wanted[0][0]:
        return Ranked(np.maximum(found[0].index, 0), found[0].weight)
    index_HQC = np.concatenate([each.index for each in found], -1)
    small_A = grid.sizes() < min_size
    index, weight = [], []
    for weights_QA, index_QC in zip(weights_HQA, index_HQC, strict=True):
        counted_QA = np.where(small_A, 0, weights_QA) if min_size > 1 else weights_QA
        head = _with_heaviest(counted_QA, index_QC, kept)
        index.append(head.index)
        weight.append(head.weight)
    return Ranked(np.stack(index), np.stack(weight))


def _with_heaviest(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """The candidates of every row, each once (-1 stands for none), then the heaviest others."""
    most = min(kept, weights_RA.shape[-1])
    heaviest = np.argpartition(-weights_RA, most - 1)[..., :most]
    order = (-np.take_along_axis(weights_RA, heaviest, -1)).argsort(-1)
    ordered = np.take_along_axis(heaviest, order, -1)
    return _first_ones(weights_RA, np.concatenate([index_RC, ordered], -1), most)


def _first_ones(weights_RA: FloatArray, index_RC: IntArray, kept: int) -> Ranked:
    """The first `kept` different ones of every row of indices."""
    by_index = index_RC.argsort(-1, kind="stable")
    ordered = np.take_along_axis(index_RC, by_index, -1)
    again = ordered < 0
    again[..., 1:] |= ordered[..., 1:] == ordered[..., :-1]
    again_RC = np.empty_like(again)
    np.put_along_axis(again_RC, by_index, again, -1)
    places = again_RC.argsort(-1, kind="stable")[..., :kept]
    index = np.maximum(np.take_along_axis(index_RC, places, -1), 0)
    weight = np.take_along_axis(weights_RA, index, -1)
    return Ranked(index, np.where(np.take_along_axis(again_RC, places, -1), 0, weight))

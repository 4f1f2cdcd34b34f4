"""Area attention for one query, from the query to the output (Eq. 1 to 4, Li et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import (
    Floats,
    compute_area_means,
    compute_area_sums,
    list_areas,
    softmax,
)
from areaviz.trace.areas import AreaGrid

KEYS_ND: Floats = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]])
VALUES_ND: Floats = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One query's attention over A areas of N items.

    Args:
        grid: the areas.
        query: the query [D].
        keys: the mean key of every area [A, D].
        logits, weights: the logit and the weight of every area [A].
        coverage: for each item, the sum of the weights of all areas that contain it [N].
        output: the output [D].
    """

    grid: AreaGrid
    query: Floats
    keys: Floats
    logits: Floats
    weights: Floats
    coverage: Floats
    output: Floats


def attend(query: Floats, size: int) -> Attention:
    """Compute attention for one query with areas of up to `size` items. Logits are not scaled."""
    grid = AreaGrid.clamped((1, len(KEYS_ND)), (1, size))
    keys = compute_area_means(KEYS_ND[None], grid)
    values = compute_area_sums(VALUES_ND[None], grid)
    logits = keys @ query
    weights = softmax(logits)
    coverage = np.zeros(len(KEYS_ND))
    for area, weight in zip(list_areas(grid), weights, strict=True):
        coverage[area.left : area.left + area.width] += weight
    return Attention(grid, query, keys, logits, weights, coverage, weights @ values)

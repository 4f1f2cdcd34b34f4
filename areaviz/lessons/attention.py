"""From a query to the output by a softmax over areas (Eq. 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import (
    Floats,
    area_means,
    area_sums,
    areas_of,
    softmax,
)
from areaviz.trace.areas import AreaGrid

KEYS_ND: Floats = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]])
VALUES_ND: Floats = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One query's attention over A areas of N items.

    Args:
        query: [D].
        keys: mean key of every area [A, D].
        logits, weights: of every area [A].
        coverage: what each item receives by all the areas that hold it [N].
        output: [D].
    """

    grid: AreaGrid
    query: Floats
    keys: Floats
    logits: Floats
    weights: Floats
    coverage: Floats
    output: Floats


def attend(query: Floats, size: int) -> Attention:
    """Eq. 1 to 4 for one query, areas of up to `size` items, logits not scaled."""
    grid = AreaGrid.clamped((1, len(KEYS_ND)), (1, size))
    keys = area_means(KEYS_ND[None], grid)
    values = area_sums(VALUES_ND[None], grid)
    logits = keys @ query
    weights = softmax(logits)
    coverage = np.zeros(len(KEYS_ND))
    for area, weight in zip(areas_of(grid), weights, strict=True):
        coverage[area.left : area.left + area.width] += weight
    return Attention(grid, query, keys, logits, weights, coverage, weights @ values)

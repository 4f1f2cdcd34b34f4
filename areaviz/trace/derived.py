"""Attention to single items, also shown as attention to areas: the sums of a head's weights over
spans and rectangles.

What is made here follows from weights a model had and says so (`AttentionMap.derived`); the model
itself never attended to these areas. Shapes: L layers, H heads, Q queries, N items, A areas.
"""

from __future__ import annotations

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, FloatArray
from areaviz.trace.weights import area_sums

AS_AREAS, SUMS = " as areas", " sums"
"""What the site of a derived map ends in: the area distribution of a head's queries and keys, or
its weights' sums.
"""

FROM_KEYS = (
    "from the queries and keys of regular heads; an area's key is the mean of its items' keys"
)
FROM_WEIGHTS = "from the weights of regular heads"


def sums_map(attention: AttentionMap, max_area: tuple[int, int]) -> AttentionMap:
    """A map of single items as one of areas of up to `max_area` (rows, columns) items, labelled as
    derived.

    The weight of an area is the sum of its items' weights, divided by the total over all areas of
    the query, so that a row sums to 1 as every row of a trace does; a larger area never has less
    weight than one within it.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    return map_of_sums(attention, grid, shared_sums(attention.weights, grid))


def shared_sums(weights: FloatArray, grid: AreaGrid) -> FloatArray:
    """The sums of the items' weights over areas, divided by their total: float32 [..., N] -> [...,
    A].
    """
    sums = area_sums(weights, grid)
    total = sums.sum(-1, keepdims=True)
    np.divide(sums, total, out=sums, where=total > 0)
    return sums


def map_of_sums(attention: AttentionMap, grid: AreaGrid, sums_LHQA: FloatArray) -> AttentionMap:
    """The map of sums over the areas of `grid` of a map of single items."""
    return AttentionMap(
        attention.site + SUMS,
        attention.query,
        attention.memory,
        grid,
        sums_LHQA,
        normalisation="sums of item weights, divided by their total",
        derived=FROM_WEIGHTS,
    )


def base_site(site: str) -> tuple[str, str]:
    """A site and what it was derived by: ("encoder self", " sums"); the second is "" where nothing
    was derived.
    """
    ending = next((ending for ending in (AS_AREAS, SUMS) if site.endswith(ending)), "")
    return site.removesuffix(ending), ending

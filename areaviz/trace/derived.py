"""Attention to single items, also shown as attention to areas.

What is made here follows from weights a model had and says so (`AttentionMap.derived`); the model
itself never attended to these areas.

Shapes: L layers, H heads, Q queries, N items, A areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.record import AttentionMap
from areaviz.trace.weights import area_sums

# What the site of a derived map ends in: the area distribution of a head's queries and keys, or
# its weights' sums.
AS_AREAS, SUMS = " as areas", " sums"

FROM_KEYS = (
    "from the queries and keys of regular heads; an area's key is the mean of its items' keys"
)
FROM_WEIGHTS = "from the weights of regular heads"


class SumsOf(LayeredWeights):
    """The sums of a map's weights over areas, made of a layer when it is first looked at.

    They are stored nowhere: the weights of the items say all there is.

    Args:
        attention: the map of single items.
        grid: the areas of the same memory.

    Raises:
        ValueError: the map attends to larger areas, or the grid is that of another memory.
    """

    def __init__(self, attention: AttentionMap, grid: AreaGrid) -> None:
        if attention.grid != AreaGrid(grid.height, grid.width, 1, 1):
            raise ValueError(f'"{attention.site}" has no single items to be summed over {grid}')
        self.base = attention.weights
        layers, heads, queries, _ = self.base.shape
        # Where reading the weights takes no memory, neither do their sums.
        on_disk = isinstance(self.base, LayeredWeights) and not self.base.cached_bytes
        super().__init__(
            (layers, heads, queries, grid.count),
            partial(_layer, self.base, grid),
            partial(_some_heads, self.base, grid) if on_disk else None,
        )


def sums_map(attention: AttentionMap, max_area: tuple[int, int]) -> AttentionMap:
    """A map of single items as one of areas of up to `max_area` (rows, columns) items.

    The weight of an area is the sum of its items' weights, divided by the total over all areas of
    the query, so that a row sums to 1 as every row of a trace does; a larger area never has less
    weight than one within it.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    return AttentionMap(
        attention.site + SUMS,
        attention.query,
        attention.memory,
        grid,
        cast(FloatArray, SumsOf(attention, grid)),
        normalisation="sums of item weights, divided by their total",
        derived=FROM_WEIGHTS,
    )


def shared_sums(weights: FloatArray, grid: AreaGrid) -> FloatArray:
    """Sums of the items' weights over areas, divided by their total: [..., N] -> [..., A]."""
    sums = area_sums(weights, grid)
    total = sums.sum(-1, keepdims=True)
    np.divide(sums, total, out=sums, where=total > 0)
    return sums


def follows(attention: AttentionMap, maps: Mapping[str, AttentionMap]) -> bool:
    """Whether the weights of a map can be left out of a file, as another of its maps gives them."""
    base = maps.get(base_site(attention.site)[0])
    weights = attention.weights
    return base is not None and isinstance(weights, SumsOf) and weights.base is base.weights


def base_site(site: str) -> tuple[str, str]:
    """A site and the ending it was derived by: ("encoder self", " sums"), or "" for none."""
    ending = next((ending for ending in (AS_AREAS, SUMS) if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def _layer(base: FloatArray, grid: AreaGrid, layer: int) -> FloatArray:
    return shared_sums(base[layer], grid)


def _some_heads(base: FloatArray, grid: AreaGrid, layer: int, first: int, last: int) -> FloatArray:
    return shared_sums(base[layer, first:last], grid)

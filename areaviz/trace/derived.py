"""Attention to single items, also shown as attention to areas.

What is made here follows from weights a model had and says so (`AttentionMap.derived`); the model
itself never attended to these areas. It is made of a layer when that is first looked at, and stored
nowhere: the weights of the items, or their logarithms, say all there is.

Shapes: L layers, H heads, Q queries, N items, A areas, R rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import cast

import numpy as np

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.check import check_logs
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.record import AttentionMap
from areaviz.trace.weights import area_sums, divide_by_sums, in_chunks

# What the site of a derived map ends in: the area distribution of a head's queries and keys, or
# its weights' sums.
AS_AREAS, SUMS = " as areas", " sums"

FROM_KEYS = (
    "from the queries and keys of regular heads; an area's key is the mean of its items' keys"
)
FROM_WEIGHTS = "from the weights of regular heads"

# Of the layers of a map that were looked at last, which are kept; always the last one.
KEPT_BYTES = 32 * 2**20
# Makes rows over areas [..., A] of rows over items [..., N].
Make = Callable[[FloatArray, AreaGrid], FloatArray]


class MadeOfItems(LayeredWeights):
    """Weights over areas, made of what is known of single items, a layer at a time.

    Args:
        items: [L, H, Q, N], what is known.
        grid: the areas.
        make: makes areas of items.
    """

    made_of: FloatArray

    def __init__(self, items: FloatArray, grid: AreaGrid, make: Make) -> None:
        layers, heads, queries, count = items.shape
        if count != grid.items:
            raise ValueError(f"{count} items are not those of {grid}")
        shape = layers, heads, queries, grid.count
        # Where reading the items takes no memory, neither does what is made of them.
        on_disk = isinstance(items, LayeredWeights) and not items.cached_bytes
        super().__init__(
            shape,
            partial(_layer, items, grid, make),
            partial(_some_heads, items, grid, make) if on_disk else None,
            most=max(1, KEPT_BYTES // (4 * prod(shape[1:]))),
        )
        self.made_of = items


class SumsOf(MadeOfItems):
    """The sums of a map's weights over areas.

    Args:
        attention: the map of single items.
        grid: the areas of the same memory.

    Raises:
        ValueError: the map attends to larger areas, or the grid is that of another memory.
    """

    def __init__(self, attention: AttentionMap, grid: AreaGrid) -> None:
        if attention.grid != AreaGrid(grid.height, grid.width, 1, 1):
            raise ValueError(f'"{attention.site}" has no single items to be summed over {grid}')
        super().__init__(attention.weights, grid, shared_sums)


class AreasOf(MadeOfItems):
    """What heads would attend to if their memory were areas: a softmax over the areas' logits.

    The logit of an area with a mean key is the mean of its items' logits, and the logarithm of an
    item's weight is its logit but for a number that all of a row share. So logarithms are enough,
    and half precision is enough for them: a weight is off by at most 2e-4. With areas of one item
    these are the weights that the logarithms were taken of.

    Args:
        logs: float16 [L, H, Q, N], the natural logarithm of the items' weights, -inf where an item
            is masked, or something that stands in for the array.
        grid: the areas of these items.

    Raises:
        ValueError: the grid is that of another memory, or a number is no logarithm of a share.
    """

    def __init__(self, logs: FloatArray, grid: AreaGrid) -> None:
        # What lies elsewhere is checked by whoever fetches it.
        if not isinstance(logs, LayeredWeights):
            check_logs(logs, "A derived map")
        super().__init__(logs, grid, shares_of_logs)


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


def areas_map(
    attention: AttentionMap, logs_LHQN: FloatArray, max_area: tuple[int, int]
) -> AttentionMap:
    """A map of single items as the area distribution of its heads, from their logarithms.

    See `AreasOf`; areas have up to `max_area` (rows, columns) items.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    weights = cast(FloatArray, AreasOf(logs_LHQN, grid))
    site = attention.site + AS_AREAS
    return AttentionMap(site, attention.query, attention.memory, grid, weights, derived=FROM_KEYS)


def shared_sums(weights: FloatArray, grid: AreaGrid) -> FloatArray:
    """Sums of the items' weights over areas, divided by their total: [..., N] -> [..., A]."""
    sums = area_sums(weights, grid)
    divide_by_sums(sums)
    return sums


def shares_of_logs(logs: FloatArray, grid: AreaGrid) -> FloatArray:
    """Softmax over areas of the mean of their items' logits: [..., N] -> float32 [..., A].

    Logits may be off by a number that all of a row share; an area with an item of -inf gets 0, and
    a row that has nothing else is 0.
    """
    return in_chunks(partial(_shares_of_logs, grid=grid), logs, grid.count, np.float32)


def follows(attention: AttentionMap, maps: Mapping[str, AttentionMap]) -> bool:
    """Whether the weights of a map can be left out of a file, as another of its maps gives them."""
    base = maps.get(base_site(attention.site)[0])
    weights = attention.weights
    return base is not None and isinstance(weights, SumsOf) and weights.made_of is base.weights


def base_site(site: str) -> tuple[str, str]:
    """A site and the ending it was derived by: ("encoder self", " sums"), or "" for none."""
    ending = next((ending for ending in (AS_AREAS, SUMS) if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def _shares_of_logs(logs_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    shares_RA = area_sums(logs_RN.astype(np.float32), grid)
    shares_RA /= grid.sizes()
    largest_R1 = shares_RA.max(-1, keepdims=True)
    # Where everything is masked, -inf less -inf would be no number.
    shares_RA -= np.maximum(largest_R1, np.finfo(np.float32).min)
    np.exp(shares_RA, out=shares_RA)
    divide_by_sums(shares_RA)
    return shares_RA


def _layer(items: FloatArray, grid: AreaGrid, make: Make, layer: int) -> FloatArray:
    return make(items[layer], grid)


def _some_heads(
    items: FloatArray, grid: AreaGrid, make: Make, layer: int, first: int, last: int
) -> FloatArray:
    return make(items[layer, first:last], grid)

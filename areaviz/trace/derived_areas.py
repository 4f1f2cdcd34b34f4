"""Attention to single items, shown as attention to areas.

Derived maps are computed from the weights of a model and marked as derived
(`AttentionMap.derived`). The model itself never attended to these areas. A layer is computed when
it is first viewed and is not stored, because the weights of the items, or their logarithms, contain
all the information.

Shapes: L layers, H heads, Q queries, N items, A areas, R rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import cast

import numpy as np

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.layered_weights import LayeredWeights
from areaviz.trace.record import AttentionMap
from areaviz.trace.weights import apply_in_chunks, area_sums, divide_by_sums

# Suffixes of the sites of derived maps. The first has the area distribution of a head's queries and
# keys, the second the sums of its weights.
AS_AREAS, SUMS = " as areas", " sums"

FROM_KEYS = (
    "from the queries and keys of regular heads; an area's key is the mean of its items' keys"
)
FROM_WEIGHTS = "from the weights of regular heads"

# Size in bytes of the cache for the latest layers of a map. The latest layer is always cached.
KEPT_BYTES = 32 * 2**20
# A function that makes rows over areas [..., A] from rows over items [..., N].
Make = Callable[[FloatArray, AreaGrid], FloatArray]


class LazyAreaWeights(LayeredWeights):
    """Weights over areas that are computed from values of single items, one layer at a time.

    Args:
        items: Values of the items, [L, H, Q, N].
        grid: The areas.
        make: Function that makes rows over areas from rows over items.
    """

    made_of: FloatArray

    def __init__(self, items: FloatArray, grid: AreaGrid, make: Make) -> None:
        layers, heads, queries, count = items.shape
        if count != grid.items:
            raise ValueError(f"{count} items are not those of {grid}")
        shape = layers, heads, queries, grid.count
        # If reading the items takes no memory, then the areas are not cached either.
        on_disk = isinstance(items, LayeredWeights) and not items.cached_bytes
        super().__init__(
            shape,
            partial(_derive_layer, items, grid, make),
            partial(_derive_heads, items, grid, make) if on_disk else None,
            most=max(1, KEPT_BYTES // (4 * prod(shape[1:]))),
        )
        self.made_of = items


class AreaSums(LazyAreaWeights):
    """The sums of a map's weights over areas.

    Args:
        attention: The map of single items.
        grid: The areas of the same memory.

    Raises:
        ValueError: The map attends to larger areas, or the grid belongs to another memory.
    """

    def __init__(self, attention: AttentionMap, grid: AreaGrid) -> None:
        if attention.grid != AreaGrid(grid.height, grid.width, 1, 1):
            raise ValueError(f'"{attention.site}" has no single items to be summed over {grid}')
        super().__init__(attention.weights, grid, compute_shared_sums)


class AreaSoftmax(LazyAreaWeights):
    """The attention of heads if their memory consisted of areas: a softmax over the areas' logits.

    The logit of an area with a mean key is the mean of its items' logits. The logarithm of an
    item's weight equals its logit, up to a constant per row. The logarithms are therefore
    sufficient, and half precision is enough for them: a weight is off by at most 2e-4. With areas
    of one item, the result is the weights that the logarithms were computed from.

    Args:
        logs: Natural logarithms of the items' weights, float16 [L, H, Q, N], -inf where an item is
            masked. A stand-in for the array is also accepted.
        grid: The areas of these items.

    Raises:
        ValueError: The grid belongs to another memory, or a number is not the logarithm of a share.
    """

    def __init__(self, logs: FloatArray, grid: AreaGrid) -> None:
        # Arrays that are stored elsewhere are checked by the code that fetches them.
        if not isinstance(logs, LayeredWeights):
            check_logs(logs, "A derived map")
        super().__init__(logs, grid, compute_shares_of_logs)


def check_logs(logs: FloatArray, called: str) -> None:
    """Check that numbers [..., N] are logarithms of shares, at most 0, or -inf for a share of 0.

    Raises:
        ValueError: A number is not floating-point, is above 0, or is NaN.
    """
    if logs.dtype.kind != "f":
        raise ValueError(f"{called} has logarithms of type {logs.dtype}.")
    if not logs.max() <= 0:
        raise ValueError(f"{called} has logarithms above 0 or not a number.")


def make_sums_map(attention: AttentionMap, max_area: tuple[int, int]) -> AttentionMap:
    """Return a map of single items as a map of areas of up to `max_area` (rows, columns) items.

    The weight of an area is the sum of its items' weights, divided by the total over all areas of
    the query. Every row therefore sums to 1, as in any map, and an area never has less weight than
    an area inside it.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    return AttentionMap(
        attention.site + SUMS,
        attention.query,
        attention.memory,
        grid,
        cast(FloatArray, AreaSums(attention, grid)),
        normalisation="sums of item weights, divided by their total",
        derived=FROM_WEIGHTS,
    )


def make_areas_map(
    attention: AttentionMap, logs_LHQN: FloatArray, max_area: tuple[int, int]
) -> AttentionMap:
    """Return the area distribution of a map of single items, from their logarithms.

    See `AreaSoftmax`. Areas have up to `max_area` (rows, columns) items.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    weights = cast(FloatArray, AreaSoftmax(logs_LHQN, grid))
    site = attention.site + AS_AREAS
    return AttentionMap(site, attention.query, attention.memory, grid, weights, derived=FROM_KEYS)


def compute_shared_sums(weights: FloatArray, grid: AreaGrid) -> FloatArray:
    """Return the items' weights summed over areas, divided by their total: [..., N] -> [..., A]."""
    sums = area_sums(weights, grid)
    divide_by_sums(sums)
    return sums


def compute_shares_of_logs(logs: FloatArray, grid: AreaGrid) -> FloatArray:
    """Compute the softmax over areas of their items' mean logits: [..., N] -> float32 [..., A].

    Logits may be off by a constant per row. An area with an item of -inf gets 0. A row in which all
    areas get 0 is all 0.
    """
    return apply_in_chunks(partial(_softmax_over_areas, grid=grid), logs, grid.count, np.float32)


def can_be_rederived(attention: AttentionMap, maps: Mapping[str, AttentionMap]) -> bool:
    """Return whether a file can omit the weights of a map because another map determines them."""
    base = maps.get(split_derived_site(attention.site)[0])
    weights = attention.weights
    return base is not None and isinstance(weights, AreaSums) and weights.made_of is base.weights


def split_derived_site(site: str) -> tuple[str, str]:
    """Split a site into its base and its derived suffix, such as ("encoder self", " sums").

    The suffix is "" if the site is not derived.
    """
    ending = next((ending for ending in (AS_AREAS, SUMS) if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def _softmax_over_areas(logs_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    shares_RA = area_sums(logs_RN.astype(np.float32), grid)
    shares_RA /= grid.sizes()
    largest_R1 = shares_RA.max(-1, keepdims=True)
    # Limit the maximum: where everything is masked, -inf - (-inf) would be NaN.
    shares_RA -= np.maximum(largest_R1, np.finfo(np.float32).min)
    np.exp(shares_RA, out=shares_RA)
    divide_by_sums(shares_RA)
    return shares_RA


def _derive_layer(items: FloatArray, grid: AreaGrid, make: Make, layer: int) -> FloatArray:
    return make(items[layer], grid)


def _derive_heads(
    items: FloatArray, grid: AreaGrid, make: Make, layer: int, first: int, last: int
) -> FloatArray:
    return make(items[layer, first:last], grid)

"""The parts of an area's logit, which explain its weight.

    logit(area) = mean of q . k over its items
                + start of its first item + end of its last + shape + size bias

The weights of a query are a softmax of these logits. The logarithm of the ratio of two weights is
therefore the sum of the differences of the parts of the two logits. The first item of an area is in
its top left corner, the last in its bottom right corner.

Shapes: H heads, Q queries, N items, S area shapes in the order of `AreaGrid.shapes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.derived_areas import AS_AREAS, AreaSoftmax, split_derived_site
from areaviz.trace.interventions import Weigh, compute_area_factors, list_changes_by_site
from areaviz.trace.record import Trace

MEAN, START, END, SHAPE, SIZE, CHANGED = "mean", "start", "end", "shape", "size", "changed"
"""The names of the parts. "changed" is the logarithm of an intervention's factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    """The numbers that determine the logits of all areas of one layer.

    A part is None if the keys of the layer do not have it.
    """

    # The areas that the layer attends to. The grid of its map may have larger areas.
    grid: AreaGrid
    # q . k of every item, including the softmax scale, float32 [H, Q, N]. -inf where an item is
    # masked.
    item: FloatArray
    # Bias of an item as the first and as the last item of an area, [H, Q, N] each.
    start: FloatArray | None = None
    end: FloatArray | None = None
    # Logit of the key of each shape, [H, Q, S], and learned bias of each size per head, [H, 1, S].
    shape: FloatArray | None = None
    size: FloatArray | None = None
    # True if `item` equals q . k only up to a constant per query.
    is_shifted: bool = False

    def parts(self, head: int, query: int, area: Area) -> dict[str, float]:
        """Return the parts of an area's logit in the order of the equation. Their sum is the logit.

        Raises:
            ValueError: The layer has no such area.
        """
        grid = self.grid
        grid.index(area)
        item_GM = self.item[head, query].reshape(grid.height, grid.width)
        bottom, right = area.top + area.height, area.left + area.width
        # Use double precision, because the app shows differences of such sums.
        inside = item_GM[area.top : bottom, area.left : right].astype(np.float64)
        found = {MEAN: float(inside.mean())}
        first = area.top * grid.width + area.left
        last = (bottom - 1) * grid.width + right - 1
        shape = (area.height - 1) * grid.max_width + area.width - 1
        for name, values, place in (
            (START, self.start, first),
            (END, self.end, last),
            (SHAPE, self.shape, shape),
            (SIZE, self.size, shape),
        ):
            if values is not None:
                found[name] = float(values[head, min(query, values.shape[1] - 1), place])
        return found

    @property
    def nbytes(self) -> int:
        """The size of all arrays in bytes."""
        arrays = (self.item, self.start, self.end, self.shape, self.size)
        return sum(array.nbytes for array in arrays if array is not None)


def has_logits(trace: Trace, site: str) -> bool:
    """Return whether a trace itself contains the parts of a site's logits."""
    return _find_own_weights(trace, site) is not None


def find_known_logits(trace: Trace, site: str, layer: int) -> Logits | None:
    """Return the logits of a layer that can be computed from the trace alone, or None.

    They exist for heads of external models whose queries and keys were recorded. Such a trace
    stores the logarithms of the item weights in half precision. They equal q . k up to a constant
    per query.
    """
    seen = _find_own_weights(trace, site)
    if seen is None:
        return None
    return Logits(trace.maps[site].grid, seen.made_of[layer], is_shifted=True)


def _find_own_weights(trace: Trace, site: str) -> AreaSoftmax | None:
    """Return a site's weights over areas if they were made from logarithms, else None."""
    base, ending = split_derived_site(site)
    if ending not in ("", AS_AREAS):
        return None
    found = trace.maps.get(base + AS_AREAS, trace.maps.get(site))
    return found.weights if found is not None and isinstance(found.weights, AreaSoftmax) else None


def change_part(trace: Trace, site: str, layer: int, head: int, query: int, area: Area) -> float:
    """Return the term that interventions add to an area's logit: log f, or 0 for none."""
    sites = {name: (one.query, one.memory) for name, one in trace.maps.items()}
    found = []
    for change in list_changes_by_site(trace.request.changes, sites):
        if isinstance(change, Weigh) and change.site == site and change.layer in (None, layer):
            found.append(change)
    if not found:
        return 0.0
    attention = trace.maps[site]
    table_14 = np.array([[area.top, area.left, area.height, area.width]], np.int64)
    queries = attention.weights.shape[2]
    factors_HQ1 = compute_area_factors(
        found, table_14, attention.grid.width, attention.heads, queries
    )
    factor = float(factors_HQ1[head, min(query, factors_HQ1.shape[1] - 1), 0])
    return float(np.log(factor)) if factor else -np.inf

"""What the logit of an area is made of: why it has the weight that it has.

    logit(area) = mean of q . k over its items
                + start of its first item + end of its last + shape + size bias

The weights of a query are a softmax of these logits, so the logarithm of the ratio of two weights
is the difference of the two logits, part by part. A first item is the one in the top left corner,
a last one that in the bottom right.

Shapes: H heads, Q queries, N items, S area shapes in the order of `AreaGrid.shapes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.derived import AS_AREAS, AreasOf, base_site
from areaviz.trace.interventions import Weigh, area_factors, weighed
from areaviz.trace.record import Trace

MEAN, START, END, SHAPE, SIZE, CHANGED = "mean", "start", "end", "shape", "size", "changed"
"""The parts of a logit; the last is the logarithm of what a change multiplies the weight by."""


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    """The numbers that the logits of all areas of one layer follow from.

    A part that the keys of the layer do not have is None.
    """

    # The areas that the layer attends to; the grid of its map may have larger ones.
    grid: AreaGrid
    # float32 [H, Q, N], q . k of every item, with the factor of the softmax in it; -inf where a
    # query may not see an item.
    item: FloatArray
    # [H, Q, N] each: the item as the first and as the last of an area.
    start: FloatArray | None = None
    end: FloatArray | None = None
    # [H, Q, S], the key of a shape; [H, 1, S], what a head has learned for a size.
    shape: FloatArray | None = None
    size: FloatArray | None = None
    # Whether `item` is q . k but for a number that all items of a query share.
    is_shifted: bool = False

    def parts(self, head: int, query: int, area: Area) -> dict[str, float]:
        """The parts of an area's logit, in the order of the equation; they add up to it.

        Raises:
            ValueError: the layer has no such area.
        """
        grid = self.grid
        grid.index(area)
        item_GM = self.item[head, query].reshape(grid.height, grid.width)
        bottom, right = area.top + area.height, area.left + area.width
        # In double precision, as differences of such sums are shown.
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
        """The bytes of all arrays."""
        arrays = (self.item, self.start, self.end, self.shape, self.size)
        return sum(array.nbytes for array in arrays if array is not None)


def has_logits(trace: Trace, site: str) -> bool:
    """Whether a trace says itself what the logits of a site are made of."""
    return _seen(trace, site) is not None


def known_logits(trace: Trace, site: str, layer: int) -> Logits | None:
    """What a trace itself says of its logits: of heads of others whose queries and keys were seen.

    Such a trace has the logarithms of weights that follow from queries and keys: q . k but for a
    number that all items of a query share, in half precision. None where it does not have them.
    """
    seen = _seen(trace, site)
    if seen is None:
        return None
    return Logits(trace.maps[site].grid, seen.made_of[layer], is_shifted=True)


def _seen(trace: Trace, site: str) -> AreasOf | None:
    """The weights of a site, or of the areas that follow from it, where they are made of these."""
    base, ending = base_site(site)
    if ending not in ("", AS_AREAS):
        return None
    found = trace.maps.get(base + AS_AREAS, trace.maps.get(site))
    return found.weights if found is not None and isinstance(found.weights, AreasOf) else None


def change_part(trace: Trace, site: str, layer: int, head: int, query: int, area: Area) -> float:
    """What the changes of a run add to an area's logit: log f, 0 where nothing is changed."""
    sites = {name: (one.query, one.memory) for name, one in trace.maps.items()}
    found = []
    for change in weighed(trace.request.changes, sites):
        if isinstance(change, Weigh) and change.site == site and change.layer in (None, layer):
            found.append(change)
    if not found:
        return 0.0
    attention = trace.maps[site]
    table_14 = np.array([[area.top, area.left, area.height, area.width]], np.int64)
    queries = attention.weights.shape[2]
    factors_HQ1 = area_factors(found, table_14, attention.grid.width, attention.heads, queries)
    factor = float(factors_HQ1[head, min(query, factors_HQ1.shape[1] - 1), 0])
    return float(np.log(factor)) if factor else -np.inf

"""Area attention from a summed area table (Algorithm 1, Li et al. 2019), for comparison.

Subtracting prefix sums loses digits, so in float32 its means are a hundred times less exact than
those of `areaviz.attention.keys`. In the printed algorithm, I[h+1:] with h from 1 gives areas
that are one row and one column too large, and no areas of height or width 1. The indices are
corrected here. Shapes: Q queries, M items, R areas; widths E of keys, V of values, D of any array.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.keys import choose_sum_dtype, count_area_items
from areaviz.attention.pooled import AreaResult, AreaSpec, attend_to_areas
from areaviz.trace.areas import AreaGrid


def table(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention from the table: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V].

    Keys of areas are means. Their values are sums or means, as `spec` says.
    """
    dtype = choose_sum_dtype(key.dtype)
    sizes_R1 = count_area_items(spec.grid, key.to(dtype)).unsqueeze(-1)
    area_key = table_sums(key.to(dtype), spec.grid) / sizes_R1
    area_value = table_sums(value.to(dtype), spec.grid)
    if spec.value_mode == "mean":
        area_value = area_value / sizes_R1
    return attend_to_areas(query, area_key, area_value, spec)


def table_sums(x: Tensor, grid: AreaGrid) -> Tensor:
    """Return the sum of every area from four corners of the table: [..., M, D] -> [..., R, D].

    The table [..., H+1, W+1, D] has at [y, x] the sum of all items above and left of that corner.
    """
    memory = x.unflatten(-2, (grid.height, grid.width))
    table = F.pad(memory.cumsum(-2).cumsum(-3), (0, 0, 1, 0, 1, 0))
    sums = []
    for h, w in grid.shapes():
        corners = table[..., h:, w:, :] + table[..., :-h, :-w, :]
        area = corners - table[..., h:, :-w, :] - table[..., :-h, w:, :]
        sums.append(area.flatten(-3, -2))
    return torch.cat(sums, -2)

"""Area attention by the summed area table (Algorithm 1, Li et al. 2019), its indices mended.

As printed, I[h+1:] with h from 1 gives areas one row and one column too large and none of height or
width 1. It is here to teach and to compare with: prefix sums cancel, so in float32 the means are a
hundred times less exact than by the recurrence of `areaviz.attention.pooling`.
Shapes: Q queries, M items, R areas, E key width, V value width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.pooling import area_sizes, wide
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.attention.weights import attend
from areaviz.trace.areas import AreaGrid


def summed_area_table(x: Tensor, grid: AreaGrid) -> Tensor:
    """I[y, x] = the sum of all items above and left of corner (y, x): [..., M, D] -> [..., H+1,
    W+1, D].
    """
    memory = x.unflatten(-2, (grid.height, grid.width))
    return F.pad(memory.cumsum(-2).cumsum(-3), (0, 0, 1, 0, 1, 0))


def table_sums(x: Tensor, grid: AreaGrid) -> Tensor:
    """The sum of every area from four corners of the table: [..., M, D] -> [..., R, D]."""
    table = summed_area_table(x, grid)
    sums = [
        table[..., h:, w:, :]
        + table[..., :-h, :-w, :]
        - table[..., h:, :-w, :]
        - table[..., :-h, w:, :]
        for h, w in grid.shapes()
    ]
    return torch.cat([area.flatten(-3, -2) for area in sums], -2)


def table(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """[..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]; mean keys, sum or mean values."""
    sizes_R1 = area_sizes(spec.grid, key.to(wide(key.dtype))).unsqueeze(-1)
    area_key = table_sums(key.to(wide(key.dtype)), spec.grid) / sizes_R1
    area_value = table_sums(value.to(wide(value.dtype)), spec.grid)
    return attend(
        query, area_key, area_value / sizes_R1 if spec.value_mode == "mean" else area_value, spec
    )

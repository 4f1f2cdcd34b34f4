"""Multi-head attention over areas: the layer every Transformer here is made of.

Shapes: B batch, Q queries, M memory items, R areas, W model width, H heads, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.area import area_mask, area_pool, causal_areas
from areaviz.trace.areas import AreaGrid


class MultiHeadAttention(nn.Module):
    def __init__(self, width: int, heads: int, area_size: int = 1) -> None:
        super().__init__()
        self.heads, self.area_size = heads, area_size
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, query_BQW: Tensor, memory_BMW: Tensor, allowed: Tensor | None) -> Tensor:
        key, value = self.key(memory_BMW), self.value(memory_BMW)
        grid = AreaGrid.clamped((1, key.shape[1]), (1, self.area_size))
        if grid.max_width > 1:
            key, value = area_pool(key, grid, "mean"), area_pool(value, grid, "sum")
        context = F.scaled_dot_product_attention(
            self.split(self.query(query_BQW)), self.split(key), self.split(value), attn_mask=allowed
        )
        return self.out(context.transpose(1, 2).flatten(2))

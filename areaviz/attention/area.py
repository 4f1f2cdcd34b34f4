"""Area attention (Li et al. 2019): scaled dot-product attention over areas of the memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.pooling import box_max, box_mean, box_sum
from areaviz.trace.areas import AreaGrid


def area_pool(x: Tensor, grid: AreaGrid, mode: str) -> Tensor:
    """Pool a vector for every area: [..., M, D] -> [..., R, D]; mode is mean, sum or max."""
    pool = {"mean": box_mean, "sum": box_sum, "max": box_max}[mode]
    return pool(x.flatten(0, -3), grid).unflatten(0, x.shape[:-2])


def area_mask(item_mask: Tensor, grid: AreaGrid) -> Tensor:
    """Which areas may be attended: those whose items all may. bool [..., M] -> bool [..., R]."""
    blocked_NM = (~item_mask).flatten(0, -2).to(torch.float32)
    return (box_sum(blocked_NM.unsqueeze(-1), grid).squeeze(-1) == 0).unflatten(0, item_mask.shape[:-1])


def causal_areas(queries: int, grid: AreaGrid, device: torch.device) -> Tensor:
    """bool [Q, R]: query i may see an area when the area's last item is not after item i."""
    top, left, height, width = grid.table().T
    last_R = torch.as_tensor((top + height - 1) * grid.width + left + width - 1, device=device)
    offset = grid.items - queries
    return last_R <= torch.arange(queries, device=device)[:, None] + offset

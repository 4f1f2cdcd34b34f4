"""Area attention from its definition, one area after the other.

It is slow and obvious (Eq. 1-4, Li et al. 2019), and the other implementations are tested against
it. Shapes: Q queries, M items, R areas, E key width, V value width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from areaviz.attention.pooled import AreaResult, AreaSpec, attend_to_areas

_POOL: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda items: items.mean(-2),
    "sum": lambda items: items.sum(-2),
    "max": lambda items: items.amax(-2),
}


def direct(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention for the key modes mean and max.

    [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V].
    """
    keys = [_POOL[spec.key_mode](items) for items in _areas(key, spec)]
    values = [_POOL[spec.value_mode](items) for items in _areas(value, spec)]
    return attend_to_areas(query, torch.stack(keys, -2), torch.stack(values, -2), spec)


def _areas(x: Tensor, spec: AreaSpec) -> list[Tensor]:
    """Return the items of every area as a list of [..., size, D]."""
    memory = x.unflatten(-2, (spec.grid.height, spec.grid.width))
    return [
        memory[..., top : top + height, left : left + width, :].flatten(-3, -2)
        for top, left, height, width in spec.grid.table().tolist()
    ]

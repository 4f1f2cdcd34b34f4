"""Slow, obvious versions of what the package computes fast: loops over areas and items, nothing shared with it.

Memories are lists of rows of items; areas are enumerated here anew, from the words of the paper.
"""

from __future__ import annotations

import torch
from torch import Tensor


def areas(height: int, width: int, max_height: int, max_width: int) -> list[list[int]]:
    """The items of every area, size-major, then row by row over the top-left corner."""
    return [
        [(top + dy) * width + left + dx for dy in range(h) for dx in range(w)]
        for h in range(1, max_height + 1)
        for w in range(1, max_width + 1)
        for top in range(height - h + 1)
        for left in range(width - w + 1)
    ]


def attention(
    query_QE: Tensor,
    key_ME: Tensor,
    value_MV: Tensor,
    memory: list[list[int]],
    allowed_QM: Tensor,
    scale: float,
    key_mode: str = "mean",
    value_mode: str = "sum",
) -> tuple[Tensor, Tensor, Tensor]:
    """Output [Q, V], area weights [Q, R], coverage [Q, M], one query and one area at a time (Eq. 1-4)."""
    pool = {"mean": lambda x: x.mean(0), "sum": lambda x: x.sum(0), "max": lambda x: x.max(0).values}
    keys = [pool[key_mode](key_ME[items]) for items in memory]
    values = [pool[value_mode](value_MV[items]) for items in memory]
    outputs, rows, covers = [], [], []
    for query_E, allowed_M in zip(query_QE, allowed_QM, strict=True):
        seen = [index for index, items in enumerate(memory) if bool(allowed_M[items].all())]
        output, cover = torch.zeros_like(value_MV[0]), torch.zeros_like(key_ME[:, 0])
        weights = torch.zeros(len(memory), dtype=query_QE.dtype)
        if seen:
            logits = torch.stack([query_E @ keys[index] * scale for index in seen])
            for index, weight in zip(seen, torch.exp(logits) / torch.exp(logits).sum(), strict=True):
                output = output + weight * values[index]
                weights[index] = weight.detach()
                cover[memory[index]] += weight.detach()
        outputs.append(output)
        rows.append(weights)
        covers.append(cover)
    return torch.stack(outputs), torch.stack(rows), torch.stack(covers)

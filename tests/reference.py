"""Slow, obvious versions of the package's fast computations.

They loop over areas and items and share no code with the package. A memory is a list of rows of
items. Areas are enumerated here independently, as the paper describes them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def areas(height: int, width: int, max_height: int, max_width: int) -> list[list[int]]:
    """Return the items of every area, size by size, then row by row over the top-left corner."""
    return [
        [(top + dy) * width + left + dx for dy in range(h) for dx in range(w)]
        for h in range(1, max_height + 1)
        for w in range(1, max_width + 1)
        for top in range(height - h + 1)
        for left in range(width - w + 1)
    ]


def area_shapes(height: int, width: int, max_height: int, max_width: int) -> list[tuple[int, int]]:
    """Return (height, width) of every area, in the order of `areas`."""
    return [
        (h, w)
        for h in range(1, max_height + 1)
        for w in range(1, max_width + 1)
        for _ in range((height - h + 1) * (width - w + 1))
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
    """Compute area attention for one query and one area at a time (Eq. 1-4).

    Returns:
        Output [Q, V], area weights [Q, R] and coverage [Q, M].
    """
    keys = [POOL[key_mode](key_ME[items]) * scale for items in memory]
    nothing = [torch.zeros((), dtype=query_QE.dtype)] * len(memory)
    return weighed_areas(
        query_QE, value_MV, memory, allowed_QM, keys, nothing, value_mode, scale=1.0
    )


POOL: dict[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda x: x.mean(0),
    "sum": lambda x: x.sum(0),
    "max": lambda x: x.max(0).values,
}


def weighed_areas(
    query_QE: Tensor,
    value_MV: Tensor,
    memory: list[list[int]],
    allowed_QM: Tensor,
    keys: list[Tensor],
    biases: list[Tensor],
    value_mode: str = "sum",
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the same results as `attention` from given area keys [E] and biases.

    The default scale is E ** -0.5.
    """
    scale = query_QE.shape[-1] ** -0.5 if scale is None else scale
    values = [POOL[value_mode](value_MV[items]) for items in memory]
    outputs, rows, covers = [], [], []
    for query_E, allowed_M in zip(query_QE, allowed_QM, strict=True):
        seen = [index for index, items in enumerate(memory) if bool(allowed_M[items].all())]
        output, cover = torch.zeros_like(value_MV[0]), torch.zeros_like(value_MV[:, 0])
        weights = torch.zeros(len(memory), dtype=query_QE.dtype)
        if seen:
            logits = torch.stack([query_E @ keys[index] * scale + biases[index] for index in seen])
            for index, weight in zip(
                seen, torch.exp(logits) / torch.exp(logits).sum(), strict=True
            ):
                output = output + weight * values[index]
                weights[index] = weight.detach()
                cover[memory[index]] += weight.detach()
        outputs.append(output)
        rows.append(weights)
        covers.append(cover)
    return torch.stack(outputs), torch.stack(rows), torch.stack(covers)

"""From area logits to area weights: softmax, exact top-k, dropout, coverage.

Shapes: Q queries, R areas, M items, V value width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.masks import area_bias
from areaviz.attention.pooling import box_scatter, per_area, wide
from areaviz.attention.spec import AreaResult, AreaSpec


def choose(logits: Tensor, spec: AreaSpec, dim: int, masked: float) -> tuple[Tensor, Tensor]:
    """Area weights along `dim`, before and after dropout.

    Logits of at most `masked` count as masked; where all are, the weights are zeros. With `top_k`
    only the k largest logits of a query stay (of equal ones, any) and their weights sum to one.
    """
    if spec.top_k is not None and spec.top_k < logits.shape[dim]:
        kept = logits.topk(spec.top_k, dim).indices
        dropped = torch.ones_like(logits, dtype=torch.bool).scatter_(dim, kept, False)
        logits = logits.masked_fill(dropped, masked)
    weights = logits.softmax(dim)
    if spec.mask or spec.area_factors is not None:
        weights = weights.masked_fill(logits <= masked, 0.0)
    return weights, F.dropout(weights, spec.dropout_p)


def weighed(logits: Tensor, factors: Tensor, masked: float) -> Tensor:
    """Logits whose softmax has every area's weight times its factor, and then sums to one; 0 masks
    the area.
    """
    banned = factors == 0
    return (logits + factors.masked_fill(banned, 1.0).log()).masked_fill(banned, 2 * masked)


def attend(query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec) -> AreaResult:
    """Attention over areas that were built one by one, all weights in memory.

    Args: query [..., Q, E], area keys [..., R, E] and area values [..., R, V].
    """
    dtype = wide(query.dtype)
    logits = query.to(dtype) @ area_key.to(dtype).transpose(-1, -2) * spec.scale
    masked = torch.finfo(dtype).min / 2
    if spec.mask.bias is not None:
        logits = logits + area_bias(spec.mask.bias, spec.grid)
    if spec.size_bias is not None:
        logits = logits + per_area(spec.size_bias, spec.grid).unsqueeze(-2)
    allowed = spec.mask.allowed_areas(spec.grid, query.shape[-2], query.device)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, 2 * masked)
    if spec.area_factors is not None:
        logits = weighed(logits, spec.area_factors, masked)
    weights, kept = choose(logits, spec, -1, masked)
    output = (kept @ area_value.to(dtype)).to(query.dtype)
    if not spec.need_weights:
        return AreaResult(output)
    return AreaResult(output, weights, area_coverage(weights, spec))


def area_coverage(weights: Tensor, spec: AreaSpec) -> Tensor:
    """The summed weight of the areas that hold each item: [..., Q, R] -> [..., Q, M]."""
    coverage_MN = box_scatter(weights.flatten(0, -2).T[None], spec.grid)[0]
    return coverage_MN.T.reshape(*weights.shape[:-1], spec.grid.items)

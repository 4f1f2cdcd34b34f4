"""Area attention with an explicit key and value per area.

It supports every mode and uses torch's own attention kernels.
Shapes: Q queries, M items, R areas, E key width, V value width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.features import AreaFeatures
from areaviz.attention.masks import average_bias
from areaviz.attention.pooling import (
    apply_to_last_axis,
    box_scatter,
    choose_sum_dtype,
    expand_to_areas,
    pool_areas,
)
from areaviz.attention.spec import AreaResult, AreaSpec


def compute_pooled(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention in any mode: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]."""
    query, area_key, area_value = pool_keys_and_values(query, key, value, spec)
    if spec.plain:
        return AreaResult(_attend_with_torch(query, area_key, area_value, spec))
    return attend_to_areas(query, area_key, area_value, spec)


def pool_keys_and_values(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the keys [..., R, E] and values [..., R, V] of all areas.

    Returns:
        The queries, the area keys and the area values. With the keys of Eq. 9 the queries contain
        W_d.
    """
    if isinstance(spec.features, AreaFeatures):
        query, area_key = (
            spec.features.fold_query(query),
            spec.features.compute_hidden_keys(key, spec.grid),
        )
    elif spec.features is not None:
        area_key = spec.features(key, spec.grid)
    else:
        area_key = pool_areas(key, spec.grid, spec.key_mode)
    return query, area_key, pool_areas(value, spec.grid, spec.value_mode)


def attend_to_areas(
    query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec
) -> AreaResult:
    """Attend to area keys [..., R, E] and values [..., R, V], with all weights in memory."""
    dtype = choose_sum_dtype(query.dtype)
    logits = query.to(dtype) @ area_key.to(dtype).transpose(-1, -2) * spec.scale
    masked = torch.finfo(dtype).min / 2
    for bias in list_area_biases(spec):
        logits = logits + bias
    allowed = spec.mask.find_allowed_areas(spec.grid, query.shape[-2], query.device)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, 2 * masked)
    if spec.multipliers is not None:
        logits = multiply_weights(logits, spec.multipliers, masked)
    weights, used = compute_weights(logits, spec, -1, masked)
    output = (used @ area_value.to(dtype)).to(query.dtype)
    if not spec.need_weights:
        return AreaResult(output)
    return AreaResult(output, weights, apply_to_last_axis(box_scatter, weights, spec.grid))


def multiply_weights(logits: Tensor, multipliers: Tensor, masked: float) -> Tensor:
    """Change logits so that their softmax multiplies each area's weight. A factor of 0 masks it."""
    banned = multipliers == 0
    logs = multipliers.masked_fill(banned, 1.0).log()
    return (logits + logs).masked_fill(banned, 2 * masked)


def compute_weights(
    logits: Tensor, spec: AreaSpec, dim: int, masked: float
) -> tuple[Tensor, Tensor]:
    """Compute area weights along `dim`, before and after dropout.

    Logits of at most `masked` count as masked. If all are masked, the weights are zeros. With
    `top_k`, only the k largest logits of a query are kept, with ties broken arbitrarily, and their
    weights sum to one.
    """
    if spec.top_k is not None and spec.top_k < logits.shape[dim]:
        best = logits.topk(spec.top_k, dim).indices
        dropped = torch.ones_like(logits, dtype=torch.bool).scatter_(dim, best, False)
        logits = logits.masked_fill(dropped, masked)
    weights = logits.softmax(dim)
    if spec.mask or spec.multipliers is not None:
        weights = weights.masked_fill(logits <= masked, 0.0)
    return weights, F.dropout(weights, spec.dropout_p)


def list_area_biases(spec: AreaSpec) -> list[Tensor]:
    """Return the biases on the area logits. Each broadcasts to [..., Q, R]."""
    biases = []
    if spec.mask.bias is not None:
        biases.append(average_bias(spec.mask.bias, spec.grid))
    if spec.size_bias is not None:
        biases.append(expand_to_areas(spec.size_bias, spec.grid).unsqueeze(-2))
    return biases


def _attend_with_torch(
    query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec
) -> Tensor:
    """Run `scaled_dot_product_attention` with the area mask, and return zeros if all is masked."""
    mask = spec.mask.find_allowed_areas(spec.grid, query.shape[-2], query.device)
    nothing = None
    if mask is not None:
        # Some kernels leave a row without areas undefined, so such a row attends to all areas and
        # is set to zero afterwards.
        nothing = ~mask.any(-1, keepdim=True)
        mask = mask | nothing
    biases = list_area_biases(spec)
    if biases:
        bias = sum(biases[1:], biases[0]).to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    out = F.scaled_dot_product_attention(
        query, area_key, area_value, attn_mask=mask, scale=spec.scale
    )
    return out if nothing is None else out.masked_fill(nothing, 0.0)

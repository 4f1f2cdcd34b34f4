"""Reading of attention from the arguments and projections of `nn.MultiheadAttention`.

Shapes: B examples, H heads, Q queries, N memory items, W model width, D width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.adapters.call_records import Call
from areaviz.adapters.heads import compute_softmax_weights, mask_to_bias, to_map_tensor
from areaviz.trace.errors import InputError

_ARGUMENTS = (
    "query",
    "key",
    "value",
    "key_padding_mask",
    "need_weights",
    "attn_mask",
    "average_attn_weights",
)


def read_multihead_heads(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Call:
    """Return the heads of an `nn.MultiheadAttention` call.

    Its projections are computed again, so this works even if the layer did not return weights.

    Raises:
        InputError: The layer adds its own items to the memory (`bias_k`, `add_zero_attn`).
    """
    assert isinstance(module, nn.MultiheadAttention)
    if module.bias_k is not None or module.add_zero_attn:
        raise InputError(
            "This attention layer adds items to its memory (add_bias_kv or add_zero_attn),"
            " which have no label. Give a probe of your own."
        )
    asked = _name_arguments(given, named)
    sides = (_add_batch(asked[side], module.batch_first) for side in ("query", "key"))
    query_BHQD, key_BHND = (_split(x, module.num_heads) for x in _project(module, *sides))
    bias = _make_bias(module, asked)
    scale = query_BHQD.shape[-1] ** -0.5
    weights = compute_softmax_weights(query_BHQD, key_BHND, scale, bias)
    return Call(weights, query_BHQD, key_BHND, scale, bias)


def is_cross_attention(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether an `nn.MultiheadAttention` attended to a memory other than its queries."""
    asked = _name_arguments(given, named)
    return isinstance(module, nn.MultiheadAttention) and asked["query"] is not asked["key"]


def _name_arguments(given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    return dict(zip(_ARGUMENTS, given, strict=False)) | dict(named)


def _add_batch(x: Tensor, batch_first: bool) -> Tensor:
    """Return a tensor as [B, Q, W]."""
    if x.dim() == 2:
        return x[None]
    return x if batch_first else x.transpose(0, 1)


def _project(
    module: nn.MultiheadAttention, query_BQW: Tensor, key_BNW: Tensor
) -> tuple[Tensor, Tensor]:
    if module.in_proj_weight is not None:
        query_weight, key_weight, _ = module.in_proj_weight.chunk(3)
    else:
        query_weight, key_weight = module.q_proj_weight, module.k_proj_weight
    query_BQW, key_BNW = F.linear(query_BQW, query_weight), F.linear(key_BNW, key_weight)
    if module.in_proj_bias is not None:
        query_bias, key_bias, _ = module.in_proj_bias.chunk(3)
        query_BQW, key_BNW = query_BQW + query_bias, key_BNW + key_bias
    return query_BQW, key_BNW


def _split(x_BNW: Tensor, heads: int) -> Tensor:
    split: Tensor = to_map_tensor(x_BNW).unflatten(-1, (heads, -1)).transpose(1, 2)
    return split


def _make_bias(module: nn.MultiheadAttention, asked: Mapping[str, Any]) -> Tensor | None:
    """Return the masks as a bias [B, H, Q, N], with 1 for axes they share.

    In this layer's masks, True means hidden.
    """
    mask, padding = asked.get("attn_mask"), asked.get("key_padding_mask")
    parts = []
    if mask is not None:
        each = mask[None, None] if mask.dim() == 2 else mask.unflatten(0, (-1, module.num_heads))
        parts.append(_make_hiding_bias(each))
    if padding is not None:
        parts.append(
            _make_hiding_bias(padding if padding.dim() == 2 else padding[None])[:, None, None]
        )
    return sum(parts[1:], parts[0]) if parts else None


def _make_hiding_bias(mask: Tensor) -> Tensor:
    return mask_to_bias(~mask if mask.dtype == torch.bool else mask)

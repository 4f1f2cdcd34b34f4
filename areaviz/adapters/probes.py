"""Reading attention off any `nn.Module`: what a probe is, and the one for `nn.MultiheadAttention`.

Shapes: B batch, H heads, Q queries, N memory items, W model width, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.adapters.heads import Heads, hidden, plain, softmax
from areaviz.trace.errors import InputError

# Called after a layer has run, with the layer, its arguments, its named arguments and its output.
Probe = Callable[[nn.Module, tuple[Any, ...], Mapping[str, Any], Any], Heads]
_ARGUMENTS = (
    "query",
    "key",
    "value",
    "key_padding_mask",
    "need_weights",
    "attn_mask",
    "average_attn_weights",
)


def multihead(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any
) -> Heads:
    """What the heads of an `nn.MultiheadAttention` did to the first example.

    Its projections are computed again, so it works whether the layer was asked for weights or not.

    Raises:
        InputError: the layer adds items of its own to the memory (`bias_k`, `add_zero_attn`).
    """
    assert isinstance(module, nn.MultiheadAttention)
    if module.bias_k is not None or module.add_zero_attn:
        raise InputError(
            "This attention layer adds items to its memory (add_bias_kv or add_zero_attn), which"
            " have no label; give a probe of your own."
        )
    asked = _asked(given, named)
    query_QW, key_NW = (_first(asked[side], module.batch_first) for side in ("query", "key"))
    query_HQD, key_HND = (_split(x, module.num_heads) for x in _project(module, query_QW, key_NW))
    bias = _bias(module, asked)
    scale = query_HQD.shape[-1] ** -0.5
    return Heads(softmax(query_HQD, key_HND, scale, bias), query_HQD, key_HND, scale, bias)


def across(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Whether an `nn.MultiheadAttention` was given another memory than the items that attend."""
    asked = _asked(given, named)
    return isinstance(module, nn.MultiheadAttention) and asked["query"] is not asked["key"]


def _asked(given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name."""
    return dict(zip(_ARGUMENTS, given, strict=False)) | dict(named)


def _first(x: Tensor, batch_first: bool) -> Tensor:
    """The first example: [Q, W]."""
    return x if x.dim() == 2 else (x[0] if batch_first else x[:, 0])


def _project(
    module: nn.MultiheadAttention, query_QW: Tensor, key_NW: Tensor
) -> tuple[Tensor, Tensor]:
    if module.in_proj_weight is not None:
        query_weight, key_weight, _ = module.in_proj_weight.chunk(3)
    else:
        query_weight, key_weight = module.q_proj_weight, module.k_proj_weight
    query_QW, key_NW = F.linear(query_QW, query_weight), F.linear(key_NW, key_weight)
    if module.in_proj_bias is not None:
        query_bias, key_bias, _ = module.in_proj_bias.chunk(3)
        query_QW, key_NW = query_QW + query_bias, key_NW + key_bias
    return query_QW, key_NW


def _split(x_NW: Tensor, heads: int) -> Tensor:
    split: Tensor = plain(x_NW).unflatten(-1, (heads, -1)).transpose(0, 1)
    return split


def _bias(module: nn.MultiheadAttention, asked: Mapping[str, Any]) -> Tensor | None:
    """The masks of the first example as a bias; in this layer True means hidden."""
    mask, padding = asked.get("attn_mask"), asked.get("key_padding_mask")
    parts = []
    if mask is not None:
        parts.append(_hiding(mask if mask.dim() == 2 else mask[: module.num_heads]))
    if padding is not None:
        parts.append(_hiding(padding if padding.dim() == 1 else padding[0])[None, None])
    return sum(parts[1:], parts[0]) if parts else None


def _hiding(mask: Tensor) -> Tensor:
    return hidden(~mask if mask.dtype == torch.bool else mask)

"""Reading attention off any `nn.Module`: what a probe is, and the one for `nn.MultiheadAttention`.

Shapes: B batch, H heads, Q queries, N memory items, W model width, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.adapters.heads import Heads, hidden, plain
from areaviz.trace.errors import InputError

Probe = Callable[[nn.Module, tuple[Any, ...], Mapping[str, Any], Any], Heads]
"""Called after a layer has run, with the layer, its arguments, its named arguments and its output.
"""


def multihead(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any
) -> Heads:
    """What the heads of an `nn.MultiheadAttention` did to the first example: its projections,
    computed again.

    It works whether the layer was asked for weights or not.

    Raises:
        InputError: the layer adds items of its own to the memory (`bias_k`, `add_zero_attn`).
    """
    assert isinstance(module, nn.MultiheadAttention)
    if module.bias_k is not None or module.add_zero_attn:
        raise InputError(
            "This attention layer adds items to its memory (add_bias_kv or add_zero_attn), which"
            " have no label; give a probe of your own."
        )
    names = (
        "query",
        "key",
        "value",
        "key_padding_mask",
        "need_weights",
        "attn_mask",
        "average_attn_weights",
    )
    asked = dict(zip(names, given, strict=False)) | dict(named)
    query_QW, key_NW = (_first(asked[side], module.batch_first) for side in ("query", "key"))
    query_HQD, key_HND = (_split(x, module.num_heads) for x in _project(module, query_QW, key_NW))
    bias = _bias(module, asked)
    scale = query_HQD.shape[-1] ** -0.5
    scores = query_HQD @ key_HND.transpose(-1, -2) * scale
    weights = (scores if bias is None else scores + bias).softmax(-1).nan_to_num(0.0)
    return Heads(weights, query_HQD, key_HND, scale, bias)


def across(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Whether an `nn.MultiheadAttention` was given other items to attend to than those
    that attend.
    """
    asked = dict(zip(("query", "key"), given, strict=False)) | dict(named)
    return isinstance(module, nn.MultiheadAttention) and asked["query"] is not asked["key"]


def _first(x: Tensor, batch_first: bool) -> Tensor:
    """The first example: [Q, W]."""
    return x if x.dim() == 2 else (x[0] if batch_first else x[:, 0])


def _project(
    module: nn.MultiheadAttention, query_QW: Tensor, key_NW: Tensor
) -> tuple[Tensor, Tensor]:
    width = module.embed_dim
    if module.in_proj_weight is not None:
        query_weight, key_weight = (
            module.in_proj_weight[:width],
            module.in_proj_weight[width : 2 * width],
        )
    else:
        query_weight, key_weight = module.q_proj_weight, module.k_proj_weight
    bias = module.in_proj_bias
    query_bias, key_bias = (None, None) if bias is None else (bias[:width], bias[width : 2 * width])
    return F.linear(query_QW, query_weight, query_bias), F.linear(key_NW, key_weight, key_bias)


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

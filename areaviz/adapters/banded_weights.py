"""Expansion of weights that a model returns only for the neighbours of each item.

Shapes: B examples, H heads, N items, K columns, G items that attend to all items, L items of a
block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn


def expand_to_all_items(
    part: nn.Module, outputs: Mapping[str, Any], key: str, layer: int, weights: Tensor
) -> Tensor | None:
    """Return the weights of a layer as [B, H, Q, N], or None if that is not possible.

    Args:
        part: Module that returned the weights.
        outputs: All outputs of the module.
        key: Name of the weights in the outputs.
        layer: Number of the layer.
        weights: The weights as returned.
    """
    config = getattr(part, "config", None)
    windows = getattr(config, "attention_window", None)
    banded = key in ("attentions", "encoder_attentions") and weights.dim() == 4
    if windows is not None and banded and weights.shape[-1] != weights.shape[-2]:
        window = windows if isinstance(windows, int) else windows[layer]
        every = outputs.get(key.replace("attentions", "global_attentions"))
        return _expand_windows(weights, window, None if every is None else every[layer])
    if weights.dim() == 5 and weights.shape[-1] == 3 * weights.shape[-2]:
        items = outputs["last_hidden_state"].shape[1]
        return _expand_blocks(weights, items)
    return weights if weights.dim() == 4 else None


def _expand_windows(weights: Tensor, window: int, every: Tensor | None) -> Tensor:
    """Expand windows around each item, as in Longformer: [B, H, N, G + window + 1].

    Args:
        weights: Weights of the layer. The columns of items that all items attend to come first.
        window: Number of items in the window in addition to its middle.
        every: Weights of the items that attend to all items, [B, H, N, G].
    """
    batch, heads, items, columns = weights.shape
    count = columns - (window + 1)
    row_N1 = torch.arange(items, device=weights.device)[:, None]
    place_NK = row_N1 + torch.arange(window + 1, device=weights.device) - window // 2
    whole = _scatter(weights[..., count:], place_NK, items)
    if count and every is not None:
        # The rows of items that attend to all items are empty in `weights`. They are in `every`.
        [globals_G] = torch.nonzero(weights[0].sum((0, 2)) == 0, as_tuple=True)
        whole[..., globals_G] += weights[..., :count]
        whole[:, :, globals_G] = every.transpose(-1, -2)[:, :, : len(globals_G)]
    return whole


def _expand_blocks(weights: Tensor, items: int) -> Tensor:
    """Expand each block and its two neighbours, as in LongT5: [B, blocks, H, L, 3 L]."""
    _, blocks, _, length, _ = weights.shape
    rows = weights.transpose(1, 2).flatten(2, 3)
    block_N1 = torch.arange(blocks, device=weights.device).repeat_interleave(length)[:, None]
    place_NK = (block_N1 - 1) * length + torch.arange(3 * length, device=weights.device)
    return _scatter(rows[:, :, :items], place_NK[:items], items)


def _scatter(weights: Tensor, place_NK: Tensor, items: int) -> Tensor:
    """Return weights [B, H, N, K] at their places among all items, without those outside."""
    inside = (place_NK >= 0) & (place_NK < items)
    place = place_NK.clamp(0, items - 1).expand(weights.shape)
    whole = weights.new_zeros((*weights.shape[:3], items))
    return whole.scatter_add_(-1, place, weights * inside)

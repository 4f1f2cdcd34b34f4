"""Masks of items, and the masks of areas that they imply.

Shapes: N rows (batch and heads together), Q queries, M memory items, R areas. An area is allowed
only if all its items are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.pooling import apply_to_last_axis, box_mean, box_sum, choose_sum_dtype
from areaviz.trace.areas import AreaGrid


def make_area_mask(item_mask: Tensor, grid: AreaGrid) -> Tensor:
    """Return which areas are allowed, because all their items are: bool [..., M] -> [..., R]."""
    return apply_to_last_axis(box_sum, (~item_mask).to(torch.float32), grid) == 0


def average_bias(bias: Tensor, grid: AreaGrid) -> Tensor:
    """Return the mean bias of every area: [..., M] -> [..., R]."""
    return apply_to_last_axis(box_mean, bias, grid)


def find_last_items(grid: AreaGrid, device: torch.device) -> Tensor:
    """Return the last item of every area, counted row by row: int64 [R]."""
    # It is created on the device because the host would wait for a copy.
    item_HW = torch.arange(grid.items, device=device).view(grid.height, grid.width)
    ends = []
    for height, width in grid.shapes():
        ends.append(item_HW[height - 1 :, width - 1 :].flatten())
    return torch.cat(ends)


def find_causal_areas(queries: int, grid: AreaGrid, device: torch.device) -> Tensor:
    """Return which areas causality allows, bool [Q, R].

    Query i may attend to the areas that end at or before item i + M - Q.
    """
    newest_Q = torch.arange(queries, device=device) + (grid.items - queries)
    return find_last_items(grid, device) <= newest_Q[:, None]


@dataclass(frozen=True)
class ItemMask:
    """The items that each query may attend to."""

    # bool, each broadcasts to [..., Q, M]. An item is masked if any of them is True.
    blocked: tuple[Tensor, ...] = ()
    # Added to the item scores: broadcasts to [..., Q, M], finite.
    bias: Tensor | None = None
    # True if query i may attend only to items up to i + M - Q. Queries and items are aligned at
    # their ends because in decoding the last query belongs to the last item.
    causal: bool = False

    def __bool__(self) -> bool:
        return bool(self.blocked) or self.bias is not None or self.causal

    def find_allowed_items(self, queries: int, items: int, device: torch.device) -> Tensor | None:
        """Return the allowed items, bool broadcastable to [..., Q, M], or None without a mask."""
        return self.find_allowed_areas(AreaGrid(1, items, 1, 1), queries, device)

    def find_allowed_areas(
        self, grid: AreaGrid, queries: int, device: torch.device
    ) -> Tensor | None:
        """Return the allowed areas, bool broadcastable to [..., Q, R], or None without a mask."""
        allowed = find_causal_areas(queries, grid, device) if self.causal else None
        for blocked in self.blocked:
            part = make_area_mask(~blocked, grid)
            allowed = part if allowed is None else part & allowed
        return allowed


def combine_masks(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
) -> ItemMask:
    """Combine the masks of one attention call.

    Args:
        query: [..., Q, E].
        key: [..., M, E].
        attn_mask: broadcasts to [..., Q, M]. bool: **True = keep**, as in
            scaled_dot_product_attention. float: its mean over an area is added to the area's scaled
            logit. A value of -inf masks the item.
        key_padding_mask: bool [B, M], B the first axis. **True = padding**, as in
            nn.MultiheadAttention.
        is_causal: whether query i may attend only to areas whose last item, counted row by row, is
            at most i + M - Q. (For Q != M, scaled_dot_product_attention aligns queries and items at
            their beginning instead.)

    Raises:
        ValueError: if a mask does not fit the query and key.
    """
    shape = (*query.shape[:-1], key.shape[-2])
    blocked, bias = [], None
    if attn_mask is not None:
        _check_mask(attn_mask, shape)
        mask = attn_mask.reshape((1,) * (len(shape) - attn_mask.dim()) + attn_mask.shape)
        if mask.dtype == torch.bool:
            blocked.append(~mask)
        else:
            hidden = mask.detach() == -torch.inf
            blocked.append(hidden)
            bias = mask.masked_fill(hidden, 0.0)
    if key_padding_mask is not None:
        blocked.append(_check_padding(key_padding_mask, shape))
    return ItemMask(tuple(blocked), bias, is_causal)


def zero_nonfinite_items(
    key: Tensor, value: Tensor, queries: int, mask: ItemMask
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Set items with NaN or infinity to zero, because 0 * NaN would turn masked sums into NaN.

    Returns:
        The key and value with those items set to zero, and the queries that may attend to such an
        item, bool [..., Q]. The results of these queries are NaN. None if it is known that there
        are no such queries.
    """
    # This check is for CPUs only: on other devices the host would wait for its result.
    if not mask or (key.device.type == "cpu" and _is_finite(key) and _is_finite(value)):
        return key, value, None
    bad = ~(key.isfinite().all(-1) & value.isfinite().all(-1))
    allowed = mask.find_allowed_items(queries, key.shape[-2], key.device)
    seen = bad.unsqueeze(-2) if allowed is None else bad.unsqueeze(-2) & allowed
    spoiled = seen.any(-1).expand(*key.shape[:-2], queries)
    bad = bad.unsqueeze(-1)
    return key.masked_fill(bad, 0.0), value.masked_fill(bad, 0.0), spoiled


def _is_finite(x: Tensor) -> bool:
    """Return whether all values are finite, with a single reduction.

    A NaN or infinity survives every sum. A sum that overflows only costs time.
    """
    return bool(x.detach().sum(dtype=choose_sum_dtype(x.dtype)).isfinite())


def _check_padding(padding: Tensor, shape: tuple[int, ...]) -> Tensor:
    batch, *between, items = shape
    if padding.dtype != torch.bool or not between or padding.shape != (batch, items):
        raise ValueError(
            f"key_padding_mask must be bool [batch, items] = {[batch, items]} (True = padding), got"
            f" {padding.dtype} {list(padding.shape)}."
        )
    return padding.view(batch, *[1] * len(between), items)


def can_broadcast(x: Tensor, shape: tuple[int, ...]) -> bool:
    """Return whether `x` broadcasts to a shape."""
    aligned = zip(reversed(x.shape), reversed(shape), strict=False)
    return x.dim() <= len(shape) and all(size in (1, whole) for size, whole in aligned)


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if not can_broadcast(mask, shape):
        raise ValueError(
            f"attn_mask {list(mask.shape)} must broadcast to [..., queries, items] = {list(shape)}."
        )
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(
            f"attn_mask must be bool (True = keep) or floating point, got {mask.dtype}."
        )

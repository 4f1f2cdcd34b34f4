"""Which items a query may attend, and what follows for areas.

Shapes: N rows (batch and heads together), Q queries, M memory items, R areas.
An area is allowed only if all its items are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.pooling import box_mean, box_sum
from areaviz.trace.areas import AreaGrid


def area_mask(item_mask: Tensor, grid: AreaGrid) -> Tensor:
    """Which areas may be attended: those whose items all may. bool [..., M] -> bool [..., R]."""
    blocked_1MN = (~item_mask).flatten(0, -2).to(torch.float32).T[None]
    allowed_RN = box_sum(blocked_1MN, grid)[0] == 0
    result: Tensor = allowed_RN.T.unflatten(0, item_mask.shape[:-1])
    return result


def area_bias(bias: Tensor, grid: AreaGrid) -> Tensor:
    """The mean bias of every area: [..., M] -> [..., R]."""
    result: Tensor = box_mean(bias.flatten(0, -2).T[None], grid)[0].T.unflatten(0, bias.shape[:-1])
    return result


def causal_areas(queries: int, grid: AreaGrid, device: torch.device) -> Tensor:
    """bool [Q, R]: query i may see an area when the area's last item is not after item
    i + M - Q.
    """
    top, left, height, width = grid.table().T
    last_R = torch.as_tensor((top + height - 1) * grid.width + left + width - 1, device=device)
    return last_R <= torch.arange(queries, device=device)[:, None] + (grid.items - queries)


@dataclass(frozen=True)
class ItemMask:
    """What each query may see of the memory.

    Attributes:
        blocked: bool tensors that broadcast to [..., Q, M]; True in any of them masks the item.
        bias: added to the item scores, broadcasts to [..., Q, M]; finite.
        causal: whether query i sees items up to i + M - Q only (aligned at the end, as when
            decoding).
    """

    blocked: tuple[Tensor, ...] = ()
    bias: Tensor | None = None
    causal: bool = False

    def __bool__(self) -> bool:
        return bool(self.blocked) or self.bias is not None or self.causal

    def allowed_items(self, queries: int, items: int, device: torch.device) -> Tensor | None:
        """bool, broadcasts to [..., Q, M], True = may be seen; None when nothing is masked."""
        return self._combine(AreaGrid(1, items, 1, 1), queries, device)

    def allowed_areas(self, grid: AreaGrid, queries: int, device: torch.device) -> Tensor | None:
        """bool, broadcasts to [..., Q, R], True = may be seen; None when nothing is masked."""
        return self._combine(grid, queries, device)

    def _combine(self, grid: AreaGrid, queries: int, device: torch.device) -> Tensor | None:
        parts = [area_mask(~blocked, grid) for blocked in self.blocked]
        if self.causal:
            parts.append(causal_areas(queries, grid, device))
        if not parts:
            return None
        allowed = parts[0]
        for part in parts[1:]:
            allowed = allowed & part
        return allowed


def item_mask(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
    temperature: float = 1.0,
) -> ItemMask:
    """Read the mask arguments of `area_attention`; the temperature divides the bias.

    Raises:
        ValueError: when a mask does not fit the query and key.
    """
    shape = (*query.shape[:-1], key.shape[-2])
    blocked, bias = [], None
    if attn_mask is not None:
        _require_broadcast(attn_mask, shape)
        if attn_mask.dtype == torch.bool:
            blocked.append(~attn_mask)
        else:
            hidden = attn_mask.detach() == -torch.inf
            blocked.append(hidden)
            bias = attn_mask.masked_fill(hidden, 0.0) / temperature
    if key_padding_mask is not None:
        blocked.append(_padding(key_padding_mask, shape))
    if bias is not None:
        bias = bias.reshape(_full_rank(bias, len(shape)))
    return ItemMask(
        tuple(mask.reshape(_full_rank(mask, len(shape))) for mask in blocked), bias, is_causal
    )


def shield(
    key: Tensor, value: Tensor, queries: int, mask: ItemMask
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Keep NaN and infinity in masked items away from the sums, where 0 * NaN would be NaN.

    Returns key and value with the items that hold NaN or infinity set to zero, and bool [..., Q]:
    the queries that may see such an item and whose result is therefore NaN (None when there are
    none).
    """
    if not mask or (_finite(key) and _finite(value)):
        return key, value, None
    bad = ~(key.isfinite().all(-1) & value.isfinite().all(-1))
    allowed = mask.allowed_items(queries, key.shape[-2], key.device)
    seen = bad.unsqueeze(-2) if allowed is None else bad.unsqueeze(-2) & allowed
    spoiled = seen.any(-1).expand(*key.shape[:-2], queries)
    return (
        key.masked_fill(bad.unsqueeze(-1), 0.0),
        value.masked_fill(bad.unsqueeze(-1), 0.0),
        spoiled,
    )


def _finite(x: Tensor) -> bool:
    """One reduction: a NaN or infinity survives every sum (and an overflow only costs time)."""
    return bool(
        x.detach()
        .sum(dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)
        .isfinite()
    )


def _padding(padding: Tensor, shape: tuple[int, ...]) -> Tensor:
    if (
        padding.dtype != torch.bool
        or len(shape) < 3
        or tuple(padding.shape) != (shape[0], shape[-1])
    ):
        raise ValueError(
            f"key_padding_mask must be bool [batch, items] = {[shape[0], shape[-1]]} (True ="
            f" padding), got {padding.dtype} {list(padding.shape)}."
        )
    return padding.view(shape[0], *[1] * (len(shape) - 2), shape[-1])


def _require_broadcast(mask: Tensor, shape: tuple[int, ...]) -> None:
    aligned = zip(_full_rank(mask, len(shape)), shape, strict=False)
    if mask.dim() > len(shape) or any(size not in (1, full) for size, full in aligned):
        raise ValueError(
            f"attn_mask {list(mask.shape)} must broadcast to [..., queries, items] = {list(shape)}."
        )
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(
            f"attn_mask must be bool (True = keep) or floating point, got {mask.dtype}."
        )


def _full_rank(mask: Tensor, rank: int) -> tuple[int, ...]:
    return (*[1] * (rank - mask.dim()), *mask.shape)

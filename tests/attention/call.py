"""`area_attention` with its options as keyword arguments, as tests name them."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from areaviz.attention.area import AreaOptions, area_attention
from areaviz.attention.pooled import AreaResult, AreaSpec, combine_masks
from areaviz.trace.areas import AreaGrid


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    area_size: int | tuple[int, int],
    memory_shape: tuple[int, int] | None = None,
    attn_mask: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    impl: str = "auto",
    **options: Any,
) -> AreaResult:
    """Compute area attention over a memory of the given shape, or over a sequence by default."""
    grid = AreaGrid(*(memory_shape or (1, key.shape[-2])), *AreaOptions(area_size).extent)
    mask = combine_masks(query, key, attn_mask, key_padding_mask, is_causal)
    spec = AreaSpec(grid, query.shape[-1] ** -0.5 if scale is None else scale, mask, **options)
    return area_attention(query, key, value, spec, impl)


def attended(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    """Return only the output of `attend`."""
    return attend(query, key, value, **options).output

"""Area attention as attention over pooled keys and values: every mode, and the fused kernels of
torch.

Shapes: Q queries, M items, R areas, E key width, V value width.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.features import AreaFeatures
from areaviz.attention.masks import area_bias
from areaviz.attention.pooling import area_pool, per_area
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.attention.weights import attend


def pooled(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """[..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]; every key and value mode."""
    if isinstance(spec.features, AreaFeatures):
        query, area_key = spec.features.fold_query(query), spec.features.hidden(key, spec.grid)
    elif spec.features is not None:
        area_key = spec.features(key, spec.grid)
    else:
        area_key = area_pool(key, spec.grid, spec.key_mode)
    area_value = area_pool(value, spec.grid, spec.value_mode)
    if not spec.plain:
        return attend(query, area_key, area_value, spec)
    return AreaResult(_kernel(query, area_key, area_value, spec))


def _kernel(query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec) -> Tensor:
    """`scaled_dot_product_attention` with the mask of the areas; zeros where nothing is allowed."""
    allowed = spec.mask.allowed_areas(spec.grid, query.shape[-2], query.device)
    if allowed is None and spec.mask.bias is None and spec.size_bias is None:
        return F.scaled_dot_product_attention(query, area_key, area_value, scale=spec.scale)
    nothing, mask = None, allowed
    if allowed is not None:
        # Not every kernel defines a row without areas, so such a row sees all and is then cleared.
        nothing = ~allowed.any(-1, keepdim=True)
        mask = allowed | nothing
    biases = [] if spec.mask.bias is None else [area_bias(spec.mask.bias, spec.grid)]
    if spec.size_bias is not None:
        biases.append(per_area(spec.size_bias, spec.grid).unsqueeze(-2))
    if biases:
        bias = sum(biases[1:], biases[0]).to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -float("inf"))
    out = F.scaled_dot_product_attention(
        query, area_key, area_value, attn_mask=mask, scale=spec.scale
    )
    return out if nothing is None else out.masked_fill(nothing, 0.0)

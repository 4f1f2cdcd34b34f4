"""The terms of the logits of area attention, which explain why a weight has its value.

Shapes: H heads, Q queries, M items, S area shapes, D width of a head.
"""

from __future__ import annotations

from torch import Tensor

from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.spec import AreaSpec
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import Logits


def has_parts(spec: AreaSpec) -> bool:
    """Return whether the logits are sums of terms per item and per shape.

    This is not the case for max keys and for the keys of Eq. 9, which combine all items of an area.
    """
    grid = spec.grid
    return spec.key_mode in ("mean", "boundary") or grid.max_height * grid.max_width == 1


def compute_logit_terms(query_1HQD: Tensor, key_1HMD: Tensor, spec: AreaSpec) -> Logits:
    """Compute the terms of the logits that `area_attention` computes for one example.

    The products are in double precision and rounded once. They are therefore closer to the exact
    logits than the weights are, which are the result of many roundings.
    """
    query_HQD = query_1HQD[0].double() * spec.scale

    def compute_products(key_HMD: Tensor) -> FloatArray:
        return _convert_to_numpy(query_HQD @ key_HMD.double().transpose(-1, -2))

    allowed = spec.mask.find_allowed_items(query_1HQD.shape[2], key_1HMD.shape[2], key_1HMD.device)
    item_HQM = compute_products(key_1HMD[0])
    if allowed is not None:
        seen = allowed.expand(query_1HQD.shape[:3] + key_1HMD.shape[2:3])[0]
        item_HQM[~seen.cpu().numpy()] = -float("inf")
    size_H1S = None if spec.size_bias is None else _convert_to_numpy(spec.size_bias[:, None])
    if not isinstance(spec.features, BoundaryKeys):
        return Logits(spec.grid, item_HQM, size=size_H1S)
    first, last = (compute_products(edge[0]) for edge in spec.features.compute_edge_keys(key_1HMD))
    shape_HQS = compute_products(
        spec.features.embed_shapes(spec.grid).expand(len(query_HQD), -1, -1)
    )
    return Logits(spec.grid, item_HQM, first, last, shape_HQS, size_H1S)


def _convert_to_numpy(values: Tensor) -> FloatArray:
    found: FloatArray = values.detach().float().cpu().numpy()
    return found

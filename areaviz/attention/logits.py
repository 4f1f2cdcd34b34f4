"""What the logits of area attention are made of, for whoever asks why a weight is what it is.

Shapes: H heads, Q queries, M items, S area shapes, D width of a head.
"""

from __future__ import annotations

from torch import Tensor

from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.features import AreaFeatures
from areaviz.attention.masks import item_mask
from areaviz.attention.spec import AreaOptions
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.logits import Logits


def has_parts(areas: AreaOptions) -> bool:
    """Whether logits are sums of numbers of items and shapes: not with max keys or those of Eq. 9,
    which are made of all items of an area together.
    """
    return areas.key_mode in ("mean", "boundary") or areas.extent == (1, 1)


def logits_of(
    query_1HQD: Tensor,
    key_1HMD: Tensor,
    grid: AreaGrid,
    features: AreaFeatures | BoundaryKeys | None,
    bias_HS: Tensor | None,
    padding_1M: Tensor | None,
    is_causal: bool,
) -> Logits:
    """The parts of the logits that `area_attention` computes of the same, of one example.

    Args:
        query_1HQD: as there.
        key_1HMD: of the items.
        grid: the areas.
        features: the parameters of boundary keys.
        bias_HS: what is added for each shape.
        padding_1M: bool, True where an item is padding.
        is_causal: whether a query sees only what ends at it.
    """
    query_HQD = query_1HQD[0].double() * query_1HQD.shape[-1] ** -0.5

    def products(key_HMD: Tensor) -> FloatArray:
        return _plain(query_HQD @ key_HMD.double().transpose(-1, -2))

    mask = item_mask(query_1HQD, key_1HMD, None, padding_1M, is_causal)
    allowed = mask.allowed_items(query_1HQD.shape[2], key_1HMD.shape[2], key_1HMD.device)
    item_HQM = products(key_1HMD[0])
    if allowed is not None:
        seen = allowed.expand(query_1HQD.shape[:3] + key_1HMD.shape[2:3])[0]
        item_HQM[~seen.cpu().numpy()] = -float("inf")
    size_H1S = None if bias_HS is None else _plain(bias_HS[:, None])
    if not isinstance(features, BoundaryKeys):
        return Logits(grid, item_HQM, size=size_H1S)
    first, last = (products(edge[0]) for edge in features.edges(key_1HMD))
    shape_HQS = products(features.per_shape(grid).expand(len(query_HQD), -1, -1))
    return Logits(grid, item_HQM, first, last, shape_HQS, size_H1S)


def _plain(values: Tensor) -> FloatArray:
    found: FloatArray = values.detach().float().cpu().numpy()
    return found

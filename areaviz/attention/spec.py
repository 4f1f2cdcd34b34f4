"""The options of one area attention, checked once and handed to every implementation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.features import AreaFeatures
from areaviz.attention.masks import ItemMask
from areaviz.trace.areas import AreaGrid

KEY_MODES = ("mean", "max", "features", "boundary")
LEARNED_KEYS = ("features", "boundary")
"""Keys with parameters of their own."""
VALUE_MODES = ("sum", "mean", "max")
KeyModule = AreaFeatures | BoundaryKeys


@dataclass(frozen=True)
class AreaSpec:
    """What to compute.

    Attributes:
        grid: the memory and its areas.
        scale: factor on the logits; the temperature is in it already, and in the mask's bias.
        mask: which items each query may see.
        key_mode, value_mode: how an area's key and value follow from its items.
        features: the parameters of keys that are learned, for `key_mode="features"` (Eq. 9) or
            "boundary".
        size_bias: added to the logits of the areas of each shape, broadcasts to [..., S], S in the
            order of `AreaGrid.shapes`; the temperature is in it already.
        top_k: how many areas a query keeps; the kept weights sum to one again.
        dropout_p: probability that an area weight is dropped.
        need_weights: whether to return area weights and coverage.
        area_factors: what area weights are multiplied by before they are divided by their sum, 0 or
            more, broadcasts to [..., Q, R].
    """

    grid: AreaGrid
    scale: float
    mask: ItemMask = field(default_factory=ItemMask)
    key_mode: str = "mean"
    value_mode: str = "sum"
    features: KeyModule | None = None
    size_bias: Tensor | None = None
    top_k: int | None = None
    dropout_p: float = 0.0
    need_weights: bool = False
    area_factors: Tensor | None = None

    @property
    def factors(self) -> bool:
        """Whether logits are sums of numbers per item and shape, and the output is a weighting of
        items.
        """
        return self.key_mode in ("mean", "boundary") and self.value_mode in ("sum", "mean")

    @property
    def means_alone(self) -> bool:
        """Whether logits are means of item logits and nothing more, so that no area outweighs its
        best item.
        """
        return self.key_mode == "mean" and self.size_bias is None

    @property
    def plain(self) -> bool:
        """Whether only the output is asked for, from the softmax as it is."""
        return (
            not self.need_weights
            and self.top_k is None
            and self.dropout_p == 0.0
            and self.area_factors is None
        )


class AreaResult(NamedTuple):
    """Output [..., Q, Ev] and, when asked for, area weights [..., Q, R] and coverage [..., Q, M].

    The weights are those before dropout. The coverage of an item is the summed weight of the areas
    that hold it (before dropout, too): over all items it adds up to the expected area size.
    """

    output: Tensor
    weights: Tensor | None = None
    coverage: Tensor | None = None

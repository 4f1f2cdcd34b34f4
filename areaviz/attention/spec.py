"""What one call of area attention is asked for, in one bundle, and what it gives.

The bundle is made once, by whoever calls, and goes unchanged to every form and to the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    """What one call of `area_attention` computes."""

    # The memory and its areas.
    grid: AreaGrid
    # Factor on q . k.
    scale: float
    # Which items each query may see, and what is added to their scores; see `item_mask`.
    mask: ItemMask = field(default_factory=ItemMask)
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary", the last two with their module.
    key_mode: str = "mean"
    features: KeyModule | None = None
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Added to the logit of every area of a shape: broadcasts to [..., S], S in the order of
    # `AreaGrid.shapes`. With it mean keys let an area outweigh its best item.
    size_bias: Tensor | None = None
    # [..., Q or 1, R], finite and 0 or more: every area's weight is multiplied by its own, then all
    # are divided by their new sum. 0 bans the area.
    multipliers: Tensor | None = None
    # Divides the logits, mask and size bias included; above 0.
    temperature: float = 1.0
    # How many areas a query keeps, its heaviest; their weights sum to one again.
    top_k: int | None = None
    # Probability that an area weight is dropped, whether training or not.
    dropout_p: float = 0.0
    # Whether area weights and coverage are returned.
    need_weights: bool = False

    def __post_init__(self) -> None:
        if self.key_mode not in KEY_MODES or self.value_mode not in VALUE_MODES:
            raise ValueError(
                f"key_mode must be one of {', '.join(KEY_MODES)} and value_mode one of "
                f"{', '.join(VALUE_MODES)}, got {self.key_mode!r} and {self.value_mode!r}."
            )
        kinds = {"features": AreaFeatures, "boundary": BoundaryKeys}
        if not isinstance(self.features, kinds.get(self.key_mode, type(None))):
            raise ValueError(
                "key_mode='features' and features=AreaFeatures(...) go together, 'boundary' and"
                " BoundaryKeys(...) too, and the other modes take no features; got"
                f" {self.key_mode!r} and {type(self.features).__name__}."
            )
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}.")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k}.")
        if not 0 <= self.dropout_p < 1:
            raise ValueError(f"dropout_p must be in [0, 1), got {self.dropout_p}.")

    @property
    def is_linear(self) -> bool:
        """Whether area logits are sums of numbers of items and shapes, and outputs of item values.

        Then no area needs a key or a value.
        """
        return self.key_mode in ("mean", "boundary") and self.value_mode in ("sum", "mean")

    @property
    def is_regular(self) -> bool:
        """Whether this is regular attention, of which torch has kernels of its own."""
        return self.plain and self.grid.max_height * self.grid.max_width == 1

    @property
    def plain(self) -> bool:
        """Whether only the output is asked for, from the softmax as it is."""
        changed = self.top_k is not None or self.dropout_p > 0 or self.multipliers is not None
        return not self.need_weights and not changed

    def tempered(self) -> AreaSpec:
        """The same with the temperature in everything that it divides, so that it is 1."""
        if self.temperature == 1:
            return self
        mask, size_bias = self.mask, self.size_bias
        if mask.bias is not None:
            mask = replace(mask, bias=mask.bias / self.temperature)
        if size_bias is not None:
            size_bias = size_bias / self.temperature
        scale = self.scale / self.temperature
        return replace(self, scale=scale, mask=mask, size_bias=size_bias, temperature=1.0)


class AreaResult(NamedTuple):
    """Output [..., Q, Ev] and, when asked for, area weights [..., Q, R] and coverage [..., Q, M].

    Both are taken before dropout, in float32 or wider. The coverage of an item is the summed weight
    of the areas that hold it; over all items it adds up to the expected area size.
    """

    output: Tensor
    weights: Tensor | None = None
    coverage: Tensor | None = None

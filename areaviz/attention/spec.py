"""The parameters and the results of one call of `area_attention`.

The caller creates the parameters once. They go unchanged to every implementation and to the kernel.
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
"""Key modes that have parameters of their own."""
VALUE_MODES = ("sum", "mean", "max")
KeyModule = AreaFeatures | BoundaryKeys


@dataclass(frozen=True)
class AreaSpec:
    """The parameters of one call of `area_attention`."""

    # The memory and its areas.
    grid: AreaGrid
    # Factor on q . k.
    scale: float
    # The items that each query may attend to, and biases on their scores, see `combine_masks`.
    mask: ItemMask = field(default_factory=ItemMask)
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary". The last two need their module.
    key_mode: str = "mean"
    features: KeyModule | None = None
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Bias on the logit of every area of a shape: broadcasts to [..., S], S in the order of
    # `AreaGrid.shapes`. With it, mean keys let an area outweigh its best item.
    size_bias: Tensor | None = None
    # Factors on the area weights, [..., Q or 1, R], finite and at least 0. The products are then
    # divided by their sum. 0 bans the area.
    multipliers: Tensor | None = None
    # Number above 0 that divides the logits, including the mask bias and the size bias.
    temperature: float = 1.0
    # Number of areas with the largest weights that a query keeps. Their weights are normalised to a
    # sum of one.
    top_k: int | None = None
    # Probability of dropping an area weight, in training and in evaluation.
    dropout_p: float = 0.0
    # True if to return area weights and coverage.
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
        """True if area logits are sums of terms per item and shape, and outputs of item values.

        No area then needs a key or a value of its own.
        """
        return self.key_mode in ("mean", "boundary") and self.value_mode in ("sum", "mean")

    @property
    def is_regular(self) -> bool:
        """True for regular attention, for which torch has its own kernels."""
        return self.plain and self.grid.max_height * self.grid.max_width == 1

    @property
    def plain(self) -> bool:
        """True if only the output is requested, from an unmodified softmax."""
        changed = self.top_k is not None or self.dropout_p > 0 or self.multipliers is not None
        return not self.need_weights and not changed

    def fold_temperature(self) -> AreaSpec:
        """Return an equivalent spec with a temperature of 1.

        The temperature is divided into the scale, the mask bias and the size bias.
        """
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
    """Output [..., Q, Ev] and, if requested, area weights [..., Q, R] and coverage [..., Q, M].

    Weights and coverage are computed before dropout, in float32 or wider. The coverage of an item
    is the summed weight of the areas that contain it. Over all items it adds up to the expected
    area size.
    """

    output: Tensor
    weights: Tensor | None = None
    coverage: Tensor | None = None

"""The options of area attention: those of a layer, and those of one call.

The latter are checked once and handed to every form of it.
"""

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


@dataclass(frozen=True, slots=True)
class AreaOptions:
    """How a layer sees its memory (Li et al. 2019)."""

    # The most items an area holds; 1 is regular attention. On a grid, the most rows and columns.
    size: int | tuple[int, int] = 1
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary".
    key_mode: str = "mean"
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Rows and columns of a memory that is a grid, row by row; None for a sequence.
    shape: tuple[int, int] | None = None
    # Taps of a convolution over neighbouring keys and values; 1 for none.
    convolution: int = 1
    # Whether every head learns a number for each shape of an area, added to its logit.
    size_bias: bool = False
    # The largest areas that the learned parameters know; None for `size`.
    known_size: int | tuple[int, int] | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """The most rows and columns an area has."""
        return _extent(self.size)

    @property
    def known_extent(self) -> tuple[int, int]:
        """The most rows and columns that learned keys and biases know."""
        return _extent(self.known_size or self.size)

    def grid(self, items: int) -> AreaGrid:
        """The areas of a memory of so many items; they never exceed it."""
        return AreaGrid.clamped(self.shape or (1, items), self.extent)


def _extent(size: int | tuple[int, int]) -> tuple[int, int]:
    return (1, size) if isinstance(size, int) else size


@dataclass(frozen=True)
class AreaSpec:
    """What one call of `area_attention` computes."""

    # The memory and its areas.
    grid: AreaGrid
    # Factor on the logits; the temperature is in it already, as in the mask's bias.
    scale: float
    # Which items each query may see.
    mask: ItemMask = field(default_factory=ItemMask)
    key_mode: str = "mean"
    value_mode: str = "sum"
    # The parameters of learned keys: `AreaFeatures` (Eq. 9) or `BoundaryKeys`.
    features: KeyModule | None = None
    # Added to the logits of the areas of each shape: broadcasts to [..., S], S in the order of
    # `AreaGrid.shapes`; the temperature is in it already.
    size_bias: Tensor | None = None
    # How many areas a query keeps; their weights sum to one again.
    top_k: int | None = None
    # Probability that an area weight is dropped.
    dropout_p: float = 0.0
    # Whether area weights and coverage are returned.
    need_weights: bool = False
    # What area weights are multiplied by before they are divided by their sum: 0 or more,
    # broadcasts to [..., Q, R].
    multipliers: Tensor | None = None

    @property
    def is_linear(self) -> bool:
        """Whether area logits are sums of numbers of items and shapes, and outputs of item values.

        Then no area needs a key or a value.
        """
        return self.key_mode in ("mean", "boundary") and self.value_mode in ("sum", "mean")

    @property
    def means_alone(self) -> bool:
        """Whether area logits are means of item logits, so that no area outweighs its best item."""
        return self.key_mode == "mean" and self.size_bias is None

    @property
    def plain(self) -> bool:
        """Whether only the output is asked for, from the softmax as it is."""
        changed = self.top_k is not None or self.dropout_p > 0 or self.multipliers is not None
        return not self.need_weights and not changed


class AreaResult(NamedTuple):
    """Output [..., Q, Ev] and, when asked for, area weights [..., Q, R] and coverage [..., Q, M].

    Both are taken before dropout. The coverage of an item is the summed weight of the areas that
    hold it; over all items it adds up to the expected area size.
    """

    output: Tensor
    weights: Tensor | None = None
    coverage: Tensor | None = None

"""The base class of all generating networks, and the result of one pass through a network.

Shapes: B examples, T target items, M memory items, C channels, V vocabulary, H heads, Q queries, R
areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.decoding.stepper import Stepper
from areaviz.models.encoders import build_picture_encoder
from areaviz.trace.errors import InputError

Sites = Mapping[str, tuple[str, str]]
"""For each site, the field that attends and the field that is attended to."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a teacher-forced pass. Mappings have, for every site, one tensor per layer.

    Args:
        logits: [B, T, V].
        weights: area weights [B, H, Q, R].
        chosen: for hard attention, the items that were read, int64 [B, H, Q].
        strength: if the network adds the contexts of several sites, the norm of each context,
            [B, H, Q].
    """

    logits: Tensor
    weights: Mapping[str, list[Tensor]]
    chosen: Mapping[str, list[Tensor]] = field(default_factory=dict)
    strength: Mapping[str, list[Tensor]] = field(default_factory=dict)


class NetworkOptions(Protocol):
    """The options of a network, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def layers(self) -> int:
        """The number of attention layers, or 0 without attention."""

    @property
    def heads(self) -> int:
        """The number of heads of every layer."""

    @property
    def mechanism(self) -> str:
        """The kind of attention, as on the card."""

    @property
    def about(self) -> str:
        """The kind of attention in words, for the title."""

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas of the cross-attention in the given layer (0-based)."""

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options with a different largest area.

        Raises:
            InputError: if the largest area cannot be changed.
        """


class SingleItemOptions:
    """The base of options of networks with one attention layer, one head and no areas."""

    __slots__ = ()

    # The word for an item in messages.
    item: ClassVar[str] = "item"

    @property
    def layers(self) -> int:
        """The number of attention layers: 1."""
        return 1

    @property
    def heads(self) -> int:
        """The number of heads: 1."""
        return 1

    def areas(self, layer: int) -> AreaOptions:
        """Return the options of areas with one item each."""
        return AreaOptions()

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options unchanged.

        Raises:
            InputError: if areas of more than one item are requested.
        """
        if area_size is not None and area_size > 1:
            raise InputError(
                f"This model attends to single {self.item}s, not to areas. Keep the default"
                " largest area."
            )
        return self


class GenerationNetwork(nn.Module):
    """The base of generating networks.

    For a new network, add a subclass and a line in `GENERATION_NETWORKS`.
    """

    # The fields that the network reads, in the order in which its methods take them.
    inputs: ClassVar[tuple[str, ...]]
    # Maximum number of items of a text or of a given output that the network reads.
    most_items: ClassVar[int] = 1 << 16
    # Maximum number of items that the network writes if no source text determines it.
    longest: ClassVar[int] = 30

    config: NetworkOptions
    sites: Sites

    def areas(self, name: str) -> AreaOptions:
        """Return the areas of a field in the first layer, which has the largest areas."""
        return self.config.areas(0)

    def forward(self, *inputs: Any) -> Tensor:
        """Return logits [B, T, V] of the next tokens. The target begins with the start symbol."""
        return self.attend(*inputs, need_weights=False).logits

    def attend(self, *inputs: Any, **options: Any) -> Pass:
        """Run one teacher-forced pass over the inputs and a target.

        Args:
            *inputs: the inputs, with None for a missing one. The last argument is a target that
                begins with the start symbol.
            **options: options of the network. `changed` contains the interventions.

        Returns:
            The logits and the weights that belong to them.
        """
        raise NotImplementedError

    def write(self, *inputs: Any, **options: Any) -> Stepper:
        """Return a decoder that reads the inputs and writes one token at a time.

        The option `changed` contains the interventions, see `attend`.
        """
        raise NotImplementedError


class PictureNetwork(GenerationNetwork):
    """The base of networks that read pictures, with an encoder that returns a grid of features."""

    most_items = 200

    def __init__(self, encoder: Mapping[str, Any], grid: int) -> None:
        super().__init__()
        self.pictures = build_picture_encoder(encoder, grid)
        self.encoder_config = self.pictures.config
        self.grid = grid

    def encode_pictures(self, pixels_BHWC: Tensor) -> Tensor:
        """Return the features [B, M, C] of uint8 pixels [B, side, side, 3], row by row."""
        features: Tensor = self.pictures(pixels_BHWC)[self.grid]
        return features

"""What every network that writes has in common, and what a pass over it returns.

Shapes: B examples, T target items, M memory items, C channels, V vocabulary, H heads, Q queries,
R areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.decoding.stepper import Stepper
from areaviz.models.encoders import picture_encoder
from areaviz.trace.errors import InputError

Sites = Mapping[str, tuple[str, str]]
"""The fields that attend and are attended to, by site."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One teacher-forced pass; each mapping has one tensor a layer, by site.

    Args:
        logits: [B, T, V].
        weights: area weights [B, H, Q, R].
        chosen: of hard attention, the items that were read, int64 [B, H, Q].
        strength: where contexts are added, the length of each, [B, H, Q].
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
        """How many layers attend; 0 where nothing does."""

    @property
    def heads(self) -> int:
        """Heads of every layer."""

    @property
    def mechanism(self) -> str:
        """The kind of attention, as on the card."""

    @property
    def about(self) -> str:
        """The kind of attention in words, for the title."""

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees what is attended to across."""

    def resized(self, area_size: int | None) -> Self:
        """The options with another largest area; InputError where it cannot be changed."""


class SingleItemOptions:
    """The base of options of networks whose one head attends to single items, in one layer."""

    __slots__ = ()

    # What an item is called in words.
    item: ClassVar[str] = "item"

    @property
    def layers(self) -> int:
        """1: a single layer attends."""
        return 1

    @property
    def heads(self) -> int:
        """1: a single head."""
        return 1

    def areas(self, layer: int) -> AreaOptions:
        """Single items."""
        return AreaOptions()

    def resized(self, area_size: int | None) -> Self:
        """The same options; InputError for areas of more than one item."""
        if area_size is not None and area_size > 1:
            raise InputError(
                f"This model attends to single {self.item}s, not to areas; leave the largest area"
                " as trained."
            )
        return self


class WritingNetwork(nn.Module):
    """The base of the networks that write; a new one is a subclass and a line in `WRITERS`."""

    # The fields it reads, in the order in which `forward`, `attend` and `write` take them.
    inputs: ClassVar[tuple[str, ...]]
    # The most items it reads of a text or of a given output.
    most_items: ClassVar[int] = 1 << 16
    # The most items it writes where no text tells how many are needed.
    longest: ClassVar[int] = 30

    config: NetworkOptions
    sites: Sites

    def areas(self, name: str) -> AreaOptions:
        """How the layer with the largest areas sees a field."""
        raise NotImplementedError

    def attend(self, *inputs: Any, **options: Any) -> Pass:
        """Read the inputs (None for a missing one) and a target that begins with the start symbol.

        The weights are those of the pass that gives the logits; the option `changed` (`Changed`)
        holds the interventions.
        """
        raise NotImplementedError

    def write(self, *inputs: Any, **options: Any) -> Stepper:
        """The decoder over the inputs, one token at a time; it has the option `changed`, too."""
        raise NotImplementedError


class PictureNetwork(WritingNetwork):
    """The base of the networks that read pictures: an encoder that makes a grid of features."""

    most_items = 200

    def __init__(self, encoder: Mapping[str, Any], grid: int) -> None:
        super().__init__()
        self.pictures = picture_encoder(encoder, grid)
        self.encoder_config = self.pictures.config
        self.grid = grid

    def look(self, pixels_BHWC: Tensor) -> Tensor:
        """The features of uint8 pixels [B, side, side, 3]: [B, M, C], row by row."""
        features: Tensor = self.pictures(pixels_BHWC)[self.grid]
        return features

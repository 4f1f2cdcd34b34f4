"""What every network that describes pictures has: an encoder of pictures, and a decoder that
attends to its grid.

Shapes: B pictures, N sentences, equally many a picture, T words, M cells, C channels, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.attention.spec import AreaOptions
from areaviz.decoding.stepper import Stepper
from areaviz.models.encoders import picture_encoder
from areaviz.models.transformer import Pass


class CaptionOptions(Protocol):
    """What is asked of the config of such a network, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def grid(self) -> int:
        """Side of the grid that is attended to."""

    @property
    def layers(self) -> int:
        """How many layers attend to it; 0 where nothing attends."""

    @property
    def heads(self) -> int:
        """Of every layer."""

    @property
    def mechanism(self) -> str:
        """The kind of attention, as on the card."""

    @property
    def about(self) -> str:
        """The same in words, for the title."""

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees the grid."""

    def resized(self, area_size: int | None) -> Self:
        """With another largest area, in rows and columns; InputError where that cannot
        be changed.
        """


class CaptionNetwork(nn.Module):
    """The base of every captioner."""

    config: CaptionOptions
    sites: tuple[str, ...]
    """Where it attends."""

    def __init__(self, encoder: Mapping[str, Any], grid: int) -> None:
        super().__init__()
        self.pictures = picture_encoder(encoder, grid)
        self.encoder_config = self.pictures.config

    def look(self, pixels_BHWC: Tensor) -> Tensor:
        """The grid of features of uint8 pixels [B, side, side, 3]: [B, M, C]."""
        features: Tensor = self.pictures(pixels_BHWC)[self.config.grid]
        return features

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Logits [N, T, V] of the word after each word of N sentences, picture by picture."""
        raise NotImplementedError

    def attend(self, features_BMC: Tensor, target_BT: Tensor, changed: Changed = UNCHANGED) -> Pass:
        """The same of one sentence a picture, with the weights of every site from the same pass.

        changed: what is done otherwise.
        """
        raise NotImplementedError

    def write(self, features_BMC: Tensor, changed: Changed = UNCHANGED) -> Stepper:
        """The decoder over these pictures, one word at a time; changed: what is done otherwise."""
        raise NotImplementedError

"""What every encoder of pictures is: its options, its base, and how features become cells.

Shapes: B pictures, H = W their side in pixels, C channels, G side of the grid, M = G * G cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The options of an encoder.

    Args:
        side: of the pictures it reads, in pixels, a multiple of 16.
        channels: of the first stage; the last has eight times as many. Larger encoders have their
            own number: "resnet152" has 128, "efficientnet-lite0" 160.
        grids: sides of the grids it gives.
        kind: a key of `ENCODERS`.
        context: whether there is a coarse stage, at a sixteenth of the side: grids no finer than
            that are its cells, and the cells of finer ones also know what it saw far around them.
            Without it a cell knows its own part of the picture.
    """

    side: int = 128
    channels: int = 32
    grids: tuple[int, ...] = (8, 14)
    kind: str = "small"
    context: bool = True

    @property
    def width(self) -> int:
        """Channels of every grid."""
        return 8 * self.channels


class GridEncoder(nn.Module):
    """The base of the encoders."""

    # The name of the file that all models with this encoder share; "" where each has its own.
    shared: ClassVar[str] = ""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Features of uint8 pixels [B, side, side, 3], for each grid: [B, M, C], row by row."""
        raise NotImplementedError


def cells(features_BCHW: Tensor, grid: int) -> Tensor:
    """The features averaged over the cells of a grid: [B, M, C], row by row."""
    return F.adaptive_avg_pool2d(features_BCHW, grid).flatten(2).transpose(1, 2)

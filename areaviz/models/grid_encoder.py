"""The base of picture encoders, their options, and the pooling of features into cells.

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
        side: side of the pictures it reads, in pixels, a multiple of 16.
        channels: channels of the first stage. The last stage has eight times as many. Larger
            encoders have a fixed number: "resnet152" has 128, "efficientnet-lite0" 160.
        grids: sides of the grids it returns.
        kind: a key of `ENCODERS`.
        context: whether there is a coarse stage at a sixteenth of the side. Grids that are not
            finer than this stage consist of its cells. The cells of finer grids also contain its
            view of their wider surroundings. Without it, a cell covers only its own part of the
            picture.
    """

    side: int = 128
    channels: int = 32
    grids: tuple[int, ...] = (8, 14)
    kind: str = "small"
    context: bool = True

    @property
    def width(self) -> int:
        """The number of channels of every grid."""
        return 8 * self.channels


class GridEncoder(nn.Module):
    """The base class of encoders."""

    # Name of the file that all models with this encoder share. "" if each model has its own
    # weights.
    shared: ClassVar[str] = ""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Encode uint8 pixels [B, side, side, 3]: features [B, M, C], row by row, for each grid."""
        raise NotImplementedError


def average_cells(features_BCHW: Tensor, grid: int) -> Tensor:
    """Average the features over the cells of a grid: [B, M, C], row by row."""
    return F.adaptive_avg_pool2d(features_BCHW, grid).flatten(2).transpose(1, 2)

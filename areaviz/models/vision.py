"""The convolutional encoder of pictures: pixels in, a grid of features out.

Shapes: B pictures, H = W their side in pixels, C channels, G side of the grid, M = G * G cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Colour = tuple[float, float, float]

MEAN, STD = (0.45, 0.44, 0.40), (0.27, 0.27, 0.28)
"""Roughly those of photographs, for each of red, green and blue."""


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What the network is made of.

    kind: a key of `encoders.ENCODERS`. side: of the pictures it reads, in pixels, a multiple of 16.
    channels: of the first stage; the last has eight times as many ("resnet152" has its own). grids:
    sides of the grids it gives.
    context: whether there is a coarse stage, at a sixteenth of the side: grids no finer than that
    are its cells, and the cells of finer ones also know what it saw far around them. Without it a
    cell knows its own part of the picture.
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
    """What every encoder of pictures is: uint8 pixels [B, side, side, 3] in, features [B, M, C] of
    each grid out.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config


class Block(nn.Module):
    """Two convolutions around a shortcut (He et al. 2016)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_convolution(channels, channels), *_convolution(channels, channels)[:-1]
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The same shape."""
        return F.relu(x_BCHW + self.layers(x_BCHW))


class PictureEncoder(GridEncoder):
    """Four stages to a sixteenth of the side; the stage before adds its detail to the
    finer grid.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        first = config.channels
        self.fine = nn.Sequential(
            *_convolution(3, first, 2),
            *_convolution(first, 2 * first, 2),
            Block(2 * first),
            *_convolution(2 * first, 4 * first, 2),
            Block(4 * first),
        )
        self.coarse = (
            nn.Sequential(*_convolution(4 * first, 8 * first, 2), Block(8 * first))
            if config.context
            else None
        )
        self.lateral = nn.Sequential(
            nn.Conv2d(4 * first, 8 * first, 1, bias=False), nn.BatchNorm2d(8 * first)
        )

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Features of uint8 pixels [B, side, side, 3], for each grid: [B, M, C], row by row."""
        fine = self.fine(normalised(pixels_BHWC, MEAN, STD))
        whole, coarse = self.lateral(fine), None
        if self.coarse is not None:
            coarse = self.coarse(fine)
            whole = whole + F.interpolate(coarse, scale_factor=2, mode="bilinear")
        whole = F.relu(whole)
        sources = {
            g: coarse if coarse is not None and g <= coarse.shape[2] else whole
            for g in self.config.grids
        }
        return {
            grid: F.adaptive_avg_pool2d(x, grid).flatten(2).transpose(1, 2)
            for grid, x in sources.items()
        }


def _convolution(inside: int, outside: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    ]


def normalised(pixels_BHWC: Tensor, mean: Colour, std: Colour) -> Tensor:
    """Bytes as floats around zero: [B, 3, H, W], laid out so that convolutions are fast."""
    mean_3, std_3 = (torch.tensor(values, device=pixels_BHWC.device) for values in (mean, std))
    x_BCHW = ((pixels_BHWC.float() / 255 - mean_3) / std_3).permute(0, 3, 1, 2)
    return x_BCHW.contiguous(memory_format=torch.channels_last)

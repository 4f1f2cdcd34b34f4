"""Picture encoders that turn pixels into grids of features.

The first encoder is small and trained here. The second one is ResNet-152 (He et al. 2016) up to its
stage res4, which the successors of Show, attend and tell use (Arslan et al. 2018, section 4). It
turns 224 x 224 pixels into 14 x 14 cells of 1024 features. Its weights have the names of
torchvision's file resnet152-*.pth, which this module reads without torchvision. The third encoder
is in `efficientnet`.

Shapes: B pictures, H = W their side in pixels, C channels, G side of the grid, M = G * G cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.models.efficientnet import EfficientNetLite0
from areaviz.models.grid_encoder import EncoderConfig, GridEncoder, average_cells
from areaviz.trace.errors import InputError

Colour = tuple[float, float, float]

PHOTO_MEAN, PHOTO_STD = (0.45, 0.44, 0.40), (0.27, 0.27, 0.28)
"""Approximate mean and deviation of photographs for red, green and blue."""
RESNET_FILE = "resnet152.pth"
RESNET_MEAN, RESNET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's pictures for red, green and blue, which the weights expect."""
RESNET_BLOCKS = (3, 8, 36)
"""Number of blocks in the stages res2, res3 and res4. res5 and the classifier are left out."""


class Block(nn.Module):
    """Two convolutions with a residual connection (He et al. 2016)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_build_convolution(channels, channels), *_build_convolution(channels, channels)[:-1]
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Compute features of an unchanged shape."""
        return F.relu(x_BCHW + self.layers(x_BCHW))


class PictureEncoder(GridEncoder):
    """A small encoder of four stages down to a sixteenth of the side.

    The third stage adds its detail to the finer grid.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        first = config.channels
        self.fine = nn.Sequential(
            *_build_convolution(3, first, 2),
            *_build_convolution(first, 2 * first, 2),
            Block(2 * first),
            *_build_convolution(2 * first, 4 * first, 2),
            Block(4 * first),
        )
        self.coarse = (
            nn.Sequential(*_build_convolution(4 * first, 8 * first, 2), Block(8 * first))
            if config.context
            else None
        )
        self.lateral = nn.Sequential(
            nn.Conv2d(4 * first, 8 * first, 1, bias=False), nn.BatchNorm2d(8 * first)
        )

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Encode uint8 pixels [B, side, side, 3]: features [B, M, C], row by row, for each grid."""
        fine = self.fine(normalise_pixels(pixels_BHWC, PHOTO_MEAN, PHOTO_STD))
        whole, coarse = self.lateral(fine), None
        if self.coarse is not None:
            coarse = self.coarse(fine)
            whole = whole + F.interpolate(coarse, scale_factor=2, mode="bilinear")
        # The rectifier follows the sum, so that coarse features can subtract from fine ones.
        whole = F.relu(whole)
        features = {}
        for grid in self.config.grids:
            source = whole
            if coarse is not None and grid <= coarse.shape[2]:
                source = coarse
            features[grid] = average_cells(source, grid)
        return features


def _build_convolution(inside: int, outside: int, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    ]


class Bottleneck(nn.Module):
    """Three convolutions with a residual connection. The middle one has the stride."""

    def __init__(self, inside: int, middle: int, stride: int) -> None:
        super().__init__()
        outside = 4 * middle
        self.conv1, self.bn1 = nn.Conv2d(inside, middle, 1, bias=False), nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3, self.bn3 = nn.Conv2d(middle, outside, 1, bias=False), nn.BatchNorm2d(outside)
        self.downsample = nn.Sequential()
        if stride > 1 or inside != outside:
            self.downsample.append(nn.Conv2d(inside, outside, 1, stride, bias=False))
            self.downsample.append(nn.BatchNorm2d(outside))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Compute the next features."""
        y = F.relu(self.bn1(self.conv1(x_BCHW)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x_BCHW))


class ResNet152(GridEncoder):
    """ResNet-152 for pictures of 224 x 224 pixels. Other grids average its 14 x 14 cells."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = _build_stage(64, 64, RESNET_BLOCKS[0], 1)
        self.layer2 = _build_stage(256, 128, RESNET_BLOCKS[1], 2)
        self.layer3 = _build_stage(512, 256, RESNET_BLOCKS[2], 2)

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Encode uint8 pixels [B, 224, 224, 3]: features [B, M, C], row by row, for each grid."""
        x_BCHW = self.conv1(normalise_pixels(pixels_BHWC, RESNET_MEAN, RESNET_STD))
        x_BCHW = F.max_pool2d(F.relu(self.bn1(x_BCHW)), 3, 2, padding=1)
        features_BCHW = self.layer3(self.layer2(self.layer1(x_BCHW)))
        return {grid: average_cells(features_BCHW, grid) for grid in self.config.grids}

    def read_weights(self, folder: Path) -> None:
        """Load the weights from `folder`/resnet152.pth, without res5 and the classifier.

        Raises:
            InputError: if the file is missing or does not contain the weights of ResNet-152.
        """
        path = folder / RESNET_FILE
        if not path.exists():
            raise InputError(
                f"{path} is missing. Fetch torchvision's file of ResNet-152, from"
                " download.pytorch.org/models, and put it there under this name."
            )
        weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
        # `load_state_dict` would refuse the file, because this network lacks some of its parts.
        for name in list(weights):
            if name.startswith(("layer4.", "fc.")):
                del weights[name]
        try:
            self.load_state_dict(weights)
        except RuntimeError as error:
            raise InputError(
                f"{path} does not contain the weights of ResNet-152. Fetch torchvision's file."
            ) from error


def _build_stage(inside: int, middle: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (Bottleneck(4 * middle, middle, 1) for _ in range(blocks - 1))
    return nn.Sequential(Bottleneck(inside, middle, stride), *rest)


def normalise_pixels(pixels_BHWC: Tensor, mean: Colour, std: Colour) -> Tensor:
    """Convert bytes to floats around zero: [B, 3, H, W], in the fastest memory layout."""
    mean_3 = torch.tensor(mean, device=pixels_BHWC.device)
    std_3 = torch.tensor(std, device=pixels_BHWC.device)
    x_BCHW = ((pixels_BHWC.float() / 255 - mean_3) / std_3).permute(0, 3, 1, 2)
    return x_BCHW.contiguous(memory_format=torch.channels_last)


ENCODERS: Mapping[str, Callable[[EncoderConfig], GridEncoder]] = {
    "small": PictureEncoder,
    "resnet152": ResNet152,
    "efficientnet-lite0": EfficientNetLite0,
}
"""All encoders by kind. For a new encoder, add a subclass of `GridEncoder` and a line here."""


def build_picture_encoder(options: Mapping[str, Any], grid: int) -> GridEncoder:
    """Build the encoder with these options of `EncoderConfig`.

    It returns features for one grid, unless the options name several.
    """
    config = EncoderConfig(**{"grids": (grid,), **options})
    return ENCODERS[config.kind](config)

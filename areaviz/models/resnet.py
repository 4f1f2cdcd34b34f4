"""ResNet-152 (He et al. 2016) up to its stage res4: the encoder that Show, attend and tell's
successors use.

Its weights have the names of torchvision's file resnet152-*.pth, which this reads; torchvision
itself is not needed. From 224 x 224 pixels it makes 14 x 14 cells of 1024 features (Arslan et al.
2018, section 4).
Shapes: B pictures, H = W their side in pixels, C channels, M cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.models.vision import EncoderConfig, GridEncoder, normalised
from areaviz.trace.errors import InputError

FILE = "resnet152.pth"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's pictures, for each of red, green and blue: the weights expect them."""
BLOCKS = (3, 8, 36)
"""Of the stages res2, res3 and res4. res5 and the classifier are left out."""


class Bottleneck(nn.Module):
    """Three convolutions around a shortcut; the middle one takes the stride."""

    def __init__(self, inside: int, middle: int, stride: int) -> None:
        super().__init__()
        outside = 4 * middle
        self.conv1, self.bn1 = nn.Conv2d(inside, middle, 1, bias=False), nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3, self.bn3 = nn.Conv2d(middle, outside, 1, bias=False), nn.BatchNorm2d(outside)
        changes = stride > 1 or inside != outside
        shortcut = (
            [nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)]
            if changes
            else []
        )
        self.downsample = nn.Sequential(*shortcut)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The next features."""
        y = F.relu(self.bn1(self.conv1(x_BCHW)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x_BCHW))


class ResNet152(GridEncoder):
    """The network as an encoder of pictures of 224 x 224 pixels; grids but 14 x 14 are its cells
    averaged.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = _stage(64, 64, BLOCKS[0], 1)
        self.layer2 = _stage(256, 128, BLOCKS[1], 2)
        self.layer3 = _stage(512, 256, BLOCKS[2], 2)

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Features of uint8 pixels [B, 224, 224, 3], for each grid: [B, M, C], row by row."""
        x_BCHW = self.conv1(normalised(pixels_BHWC, MEAN, STD))
        x_BCHW = F.max_pool2d(F.relu(self.bn1(x_BCHW)), 3, 2, padding=1)
        features_BCHW = self.layer3(self.layer2(self.layer1(x_BCHW)))
        grids = {grid: F.adaptive_avg_pool2d(features_BCHW, grid) for grid in self.config.grids}
        return {grid: x_BCHW.flatten(2).transpose(1, 2) for grid, x_BCHW in grids.items()}

    def read(self, folder: Path) -> None:
        """Take the weights of `folder`/resnet152.pth; those of res5 and the classifier are passed
        over.

        Raises:
            InputError: the file is missing, or is not that of ResNet-152.
        """
        path = folder / FILE
        if not path.exists():
            raise InputError(
                f"{path} is missing; fetch torchvision's file of ResNet-152, from"
                " download.pytorch.org/models, and put it there under this name."
            )
        weights: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
        kept = {
            name: value
            for name, value in weights.items()
            if not name.startswith(("layer4.", "fc."))
        }
        try:
            self.load_state_dict(kept)
        except RuntimeError as error:
            raise InputError(
                f"{path} does not hold the weights of ResNet-152; fetch torchvision's file."
            ) from error


def _stage(inside: int, middle: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (Bottleneck(4 * middle, middle, 1) for _ in range(blocks - 1))
    return nn.Sequential(Bottleneck(inside, middle, stride), *rest)

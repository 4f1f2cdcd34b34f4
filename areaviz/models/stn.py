"""A digit classifier with or without a preceding spatial transformer (Jaderberg et al. 2015).

Shapes: B batch, H, W of the picture, S side of the classifier's input, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.hard import find_corners_px, sample_quadrilateral
from areaviz.models.classifier_pass import ClassifierPass


@dataclass(frozen=True, slots=True)
class StnConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        attends: whether a spatial transformer precedes the reader. Without it, the reader gets the
            whole picture.
        side: side of the transformer's output, in pixels.
        width: channels of the reader's convolutions.
        hidden: units of the reader's last hidden layer.
        classes: number of labels.
    """

    kind: str = "cluttered"
    attends: bool = True
    side: int = 28
    width: int = 32
    hidden: int = 128
    classes: int = 10


class Stn(nn.Module):
    """A localiser that starts as the identity, the spatial transformer, and the reader."""

    def __init__(self, config: StnConfig) -> None:
        super().__init__()
        self.config = config
        self.localiser = _build_localiser() if config.attends else None
        cells = 3 if config.attends else 4
        self.reader = build_convolutional_reader(config.width, config.classes, cells, config.hidden)

    def forward(self, pictures_BHW: Tensor, sample: bool = False) -> ClassifierPass:
        """Read pictures with values 0..1 in one look. `sample` has no effect."""
        if self.localiser is None:
            return ClassifierPass(self.reader(pictures_BHW[:, None])[:, None])
        theta_B23 = self.localiser(pictures_BHW[:, None]).unflatten(1, (2, 3))
        seen_B1SS = sample_quadrilateral(pictures_BHW[:, None], theta_B23, self.config.side)
        corners_B42 = find_corners_px(theta_B23, *pictures_BHW.shape[1:])
        return ClassifierPass(
            self.reader(seen_B1SS)[:, None], 1, corners_B42[:, None, None], seen_B1SS[:, None]
        )


def build_convolutional_reader(
    width: int, classes: int, cells: int, hidden: int = 128
) -> nn.Sequential:
    """Build a classifier for pictures of any size, [B, 1, H, W], that returns logits [B, classes].

    Args:
        width: channels of the first convolutions.
        classes: number of labels.
        cells: number of cells along a side. The classifier reads the maximum of each cell.
        hidden: units of the last hidden layer.
    """
    return nn.Sequential(
        nn.Conv2d(1, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        # Pictures differ in size, but the next layer needs inputs of a fixed size.
        nn.AdaptiveMaxPool2d(cells),
        nn.Flatten(),
        nn.Linear(2 * width * cells**2, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


def _build_identity_layer(width: int) -> nn.Linear:
    """Build a layer that returns the six numbers of theta and starts with the identity."""
    layer = nn.Linear(width, 6)
    # With zero weights, every picture starts with the bias: the whole picture.
    nn.init.zeros_(layer.weight)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
    return layer


def _build_localiser() -> nn.Sequential:
    """Build a network from a picture [B, 1, H, W] to the six numbers of theta."""
    return nn.Sequential(
        nn.MaxPool2d(2),
        nn.Conv2d(1, 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 20, 5),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(5),
        nn.Flatten(),
        nn.Linear(500, 64),
        nn.ReLU(),
        _build_identity_layer(64),
    )

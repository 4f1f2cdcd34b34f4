"""A coarse view of a whole picture, from which a network decides where to look (Ba et al. 2015).

Shapes: B batch, H, W of the picture, G side of the coarse view, S side of a patch, N width.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


def make_coarse_view(pictures_BHW: Tensor, side: int) -> Tensor:
    """Average the whole picture to a few pixels: [B, G, G]."""
    return F.interpolate(pictures_BHW[:, None], (side, side), mode="area")[:, 0]


def build_convolutions(channels: int, side: int, width: int) -> nn.Sequential:
    """Build three convolutions and a linear layer: [B, channels, S, S] to [B, N].

    The last two convolutions halve the side.
    """
    last = (side + 3) // 4
    return nn.Sequential(
        nn.Conv2d(channels, 24, 3, stride=1, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48 * last * last, width),
        nn.ReLU(),
    )

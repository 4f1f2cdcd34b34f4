"""A convolution over the keys and values of a memory: what the neighbourhood brings without any
area.

The control for area attention: each channel of a projected key or value is mixed with the same
channel of its neighbours before attention (So et al. 2021, Primer, section 4). Shapes: B batch, M
items in rows of a grid, W width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class NeighbourConvolution(nn.Module):
    """out = x + depthwise convolution of x; it begins as the identity, so training starts from
    attention as it is.
    """

    def __init__(self, width: int, taps: int, shape: tuple[int, int] | None = None) -> None:
        """Make the weights.

        Args:
            width: channels, each of which has taps of its own.
            taps: items in a window, an odd number; on a grid the window has as many rows as
                columns.
            shape: rows and columns of the memory; None for a sequence of any length.
        """
        super().__init__()
        if taps % 2 == 0:
            raise ValueError(
                f"A convolution needs an odd number of taps, so that it has a centre; got {taps}."
            )
        self.taps, self.shape = taps, shape
        self.weight = nn.Parameter(torch.zeros(width, 1, 1 if shape is None else taps, taps))

    def forward(self, x_BMW: Tensor, is_causal: bool = False) -> Tensor:
        """[B, M, W] -> [B, M, W]: windows centred on each item, or ending at it when
        `is_causal`.
        """
        rows, columns = self.shape or (1, x_BMW.shape[1])
        x_BWHV = x_BMW.transpose(1, 2).unflatten(2, (rows, columns))
        half = self.taps // 2
        down = 0 if self.shape is None else half
        left, right = (self.taps - 1, 0) if is_causal else (half, half)
        padded = F.pad(x_BWHV, (left, right, down, down))
        mixed_BWHV = F.conv2d(padded, self.weight, groups=self.weight.shape[0])
        return x_BMW + mixed_BWHV.flatten(2).transpose(1, 2)

"""Location-wise hard attention: a retina that reads a few boxes of a picture (Mnih et al. 2014;
survey Eq. 18-24).

Shapes: B batch, H height, W width, K scales, S side of a patch. Places are (x, y) from -1 (left,
top) to 1.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def exact(device: torch.device) -> torch.dtype:
    """The type that differences of large sums lose least in; MPS has no double."""
    return torch.float32 if device.type == "mps" else torch.float64


class Retina:
    """Square patches around a place, each twice as wide as the one before, all brought to `side`
    pixels by means.

    What lies outside a picture is zero. Means are differences of summed areas, which are computed
    once, so a glimpse costs the same however wide its boxes are.
    """

    def __init__(self, pictures_BHW: Tensor, side: int, scales: int) -> None:
        self.side, self.scales = side, scales
        self._height, self._width = pictures_BHW.shape[1:]
        sums = pictures_BHW.to(exact(pictures_BHW.device)).cumsum(1).cumsum(2)
        table = F.pad(sums, (1, 0, 1, 0))
        self._table = table.flatten(1)

    def read(self, centre_B2: Tensor) -> tuple[Tensor, Tensor]:
        """Patches [B, K, S, S] and their boxes, int64 [B, K, 4]: left, top, right, bottom in
        pixels.

        Right and bottom are exclusive; a box may reach over the edge of the picture.
        """
        size_2 = torch.tensor([self._width, self._height], device=centre_B2.device)
        pixel_B2 = (centre_B2.clamp(-1, 1) + 1) / 2 * size_2
        patches, boxes = [], []
        for step in (2**scale for scale in range(self.scales)):
            corner_B2 = (pixel_B2 - step * self.side / 2).round().long()
            patches.append(self._means(corner_B2, step))
            boxes.append(torch.cat([corner_B2, corner_B2 + step * self.side], 1))
        return torch.stack(patches, 1), torch.stack(boxes, 1)

    def _means(self, corner_B2: Tensor, step: int) -> Tensor:
        """Means over `side` x `side` squares of `step` pixels, from a left top corner (x, y) on:
        [B, S, S].
        """
        offset = torch.arange(self.side + 1, device=corner_B2.device) * step
        columns = (corner_B2[:, 0, None] + offset).clamp(0, self._width)
        rows = (corner_B2[:, 1, None] + offset).clamp(0, self._height)
        index = rows[:, :, None] * (self._width + 1) + columns[:, None, :]
        sums = self._table.gather(1, index.flatten(1)).view_as(index)
        return (sums.diff(dim=1).diff(dim=2) / step**2).float()

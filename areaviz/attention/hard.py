"""Attention to places of a picture: hard attention, glimpses, and spatial transformers."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

# Hard attention, which samples an item or place, REINFORCE, and glimpses with a retina.
#
# Williams 1992; Mnih et al. 2014; survey Eq. 15-24 and 43-50. Shapes: B batch, M items of a memory,
# T choices, H height, W width, K scales, S side of a patch. Places are (x, y) from -1 (left, top)
# to 1.


def sample_place(mean_B2: Tensor, std: float, sample: bool) -> tuple[Tensor, Tensor]:
    """Sample a place around its mean.

    The draw is Gaussian with standard deviation `std`. Its log-probability is computed before the
    place is clamped to the picture, and no gradient flows through the draw. Without `sample`, the
    mean itself is used.

    Returns:
        The places [B, 2], clamped to -1..1, and their log-probability [B].
    """
    place = mean_B2 + std * torch.randn_like(mean_B2) if sample else mean_B2
    distance = ((place.detach() - mean_B2) / std) ** 2
    log_probability = -(distance / 2 + math.log(std * math.sqrt(2 * math.pi))).sum(1)
    return place.detach().clamp(-1, 1), log_probability


def choose_item(weights_BM: Tensor, sample: bool) -> tuple[Tensor, Tensor]:
    """Choose one item of each memory: sample it by its weight, or take the heaviest.

    Returns:
        The chosen items, int64 [B], and their log-probability [B].
    """
    chosen_B = torch.multinomial(weights_BM.detach(), 1)[:, 0] if sample else weights_BM.argmax(1)
    weight_B = weights_BM.gather(1, chosen_B[:, None])[:, 0]
    return chosen_B, weight_B.clamp_min(1e-9).log()


def compute_reinforce_loss(
    log_probability_BT: Tensor, reward_BT: Tensor, baseline_BT: Tensor
) -> Tensor:
    """Compute the REINFORCE loss plus the squared error of the baseline.

    The first term is -sum_t log p_t (R_t - b_t), summed over the choices and averaged over the
    batch (survey Eq. 50). Its gradient is the REINFORCE estimate. The advantage R - b is treated as
    a constant, so the first term does not train the baseline, and the second does not train the
    choices.
    """
    advantage = (reward_BT - baseline_BT).detach()
    surrogate = -(log_probability_BT * advantage).sum(1).mean()
    return surrogate + F.mse_loss(baseline_BT, reward_BT)


def choose_exact_dtype(device: torch.device) -> torch.dtype:
    """Return the most precise type for differences of large sums: float64, or float32 on MPS.

    MPS has no float64.
    """
    return torch.float32 if device.type == "mps" else torch.float64


class Retina:
    """Square patches around a place, each twice as wide as the previous one (survey Eq. 18-24).

    All patches are averaged down to `side` pixels. Pixels outside the picture are zero. Averages
    are differences of a summed area table, which is computed once, so the cost of a glimpse does
    not depend on its size.
    """

    def __init__(self, pictures_BHW: Tensor, side: int, scales: int) -> None:
        self.side, self.scales = side, scales
        self._height, self._width = pictures_BHW.shape[1:]
        sums = pictures_BHW.to(choose_exact_dtype(pictures_BHW.device)).cumsum(1).cumsum(2)
        self._table = F.pad(sums, (1, 0, 1, 0)).flatten(1)

    def read_patches(self, centre_B2: Tensor) -> tuple[Tensor, Tensor]:
        """Read the patches around a place in each picture.

        Returns:
            Patches [B, K, S, S] and their boxes in pixels, int64 [B, K, 4]. A box is left, top,
            right and bottom, the last two exclusive. It may extend beyond the picture.
        """
        size_2 = torch.tensor([self._width, self._height], device=centre_B2.device)
        pixel_B2 = (centre_B2.clamp(-1, 1) + 1) / 2 * size_2
        patches, boxes = [], []
        for scale in range(self.scales):
            step = 2**scale
            corner_B2 = (pixel_B2 - step * self.side / 2).round().long()
            patches.append(self._compute_means(corner_B2, step))
            boxes.append(torch.cat([corner_B2, corner_B2 + step * self.side], 1))
        return torch.stack(patches, 1), torch.stack(boxes, 1)

    def _compute_means(self, corner_B2: Tensor, step: int) -> Tensor:
        """Compute means over squares of `step` pixels from a top left corner (x, y): [B, S, S]."""
        offset = torch.arange(self.side + 1, device=corner_B2.device) * step
        columns = (corner_B2[:, 0, None] + offset).clamp(0, self._width)
        rows = (corner_B2[:, 1, None] + offset).clamp(0, self._height)
        index = rows[:, :, None] * (self._width + 1) + columns[:, None, :]
        sums = self._table.gather(1, index.flatten(1)).view_as(index)
        return (sums.diff(dim=1).diff(dim=2) / step**2).float()


# Location-wise soft attention, in which a spatial transformer reads a quadrilateral of a picture.
#
# Jaderberg et al. 2015, survey Eq. 25-42. Shapes: B batch, C channels, H height, W width, S side of
# the output. Theta [B, 2, 3] maps output places to input places, both (x, y) from -1 to 1 at the
# outer edges of the picture (align_corners=False throughout).


def sample_quadrilateral(pictures_BCHW: Tensor, theta_B23: Tensor, side: int) -> Tensor:
    """Sample theta's quadrilateral from a picture, bilinearly, with zeros outside: [B, C, S, S]."""
    grid = F.affine_grid(theta_B23, [len(theta_B23), 1, side, side], align_corners=False)
    return F.grid_sample(
        pictures_BCHW, grid, mode="bilinear", padding_mode="zeros", align_corners=False
    )


def find_corners_px(theta_B23: Tensor, height: int, width: int) -> Tensor:
    """Return the corners of the output in the input, in pixels, clockwise from the top left.

    Returns:
        [B, 4, 2] as (x, y).
    """
    corners = torch.tensor(
        [[-1.0, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], device=theta_B23.device
    )
    places_B42 = corners.to(theta_B23.dtype) @ theta_B23.transpose(1, 2)
    return (places_B42 + 1) / 2 * torch.tensor([width, height], device=theta_B23.device)

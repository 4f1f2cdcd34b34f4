"""Location-wise soft attention, in which a spatial transformer reads a quadrilateral of a picture.

Jaderberg et al. 2015, survey Eq. 25-42. Shapes: B batch, C channels, H height, W width, S side of
the output. Theta [B, 2, 3] maps output places to input places, both (x, y) from -1 to 1 at the
outer edges of the picture (align_corners=False throughout).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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

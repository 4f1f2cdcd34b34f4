"""Photos for training: packed pixels, changed a little each time.

Shapes: B pictures, H = W their side, C = 3 colours.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.data.flickr8k import SIDE, Photo, read_photos, read_pixels
from areaviz.training.cached_array import kept


def packed_name(pictures: str, split: str, side: int) -> Path:
    """Where the pixels of a split are kept, below the runs."""
    return Path(pictures) / (f"{split}.npy" if side == SIDE else f"{split}-{side}.npy")


def packed_photos(
    data: Path, runs: Path, split: str, side: int = SIDE
) -> tuple[list[Photo], npt.NDArray[np.uint8]]:
    """The photos of a split and their pixels [N, side, side, 3], decoded once and then mapped from
    `runs`/photos.
    """
    photos = read_photos(data, split)
    return photos, kept(
        runs / packed_name("photos", split, side), lambda: read_pixels(data, photos, side)
    )


def augment(pixels_BHWC: Tensor, generator: torch.Generator, least: float = 0.7) -> Tensor:
    """Another cut, mirrored half of the time, lighter or darker: uint8, the same shape.

    least: the smallest side of a cut, as a share of the picture's.
    """
    count, side = len(pixels_BHWC), pixels_BHWC.shape[1]

    def draw(low: float, high: float, width: int = 1) -> Tensor:
        return torch.rand(count, width, generator=generator) * (high - low) + low

    scale_B2 = draw(least, 1, 2)
    shift_B2 = draw(-1, 1, 2) * (1 - scale_B2)
    mirror = torch.where(draw(0, 1) < 0.5, -1.0, 1.0)[:, 0]
    theta = torch.zeros(count, 2, 3)
    theta[:, 0, 0], theta[:, 1, 1], theta[:, :, 2] = (
        scale_B2[:, 0] * mirror,
        scale_B2[:, 1],
        shift_B2,
    )
    x = pixels_BHWC.permute(0, 3, 1, 2).float()
    grid = F.affine_grid(theta.to(x.device), [count, 3, side, side], align_corners=False)
    cut = F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)
    light, contrast = (
        draw(-20, 20)[..., None, None].to(x.device),
        draw(0.8, 1.2)[..., None, None].to(x.device),
    )
    changed = (cut - 110) * contrast + 110 + light
    return changed.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)

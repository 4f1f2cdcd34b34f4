"""Small random changes to photos for training, so that a photo looks different each time.

Gold boxes change with the photos. Shapes: B pictures, H = W their side in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.samples.dataset import Box, Boxes, GroundedSentence
from areaviz.trace.areas import IntArray

MIN_KEPT_SHARE = 0.3
"""Share of a box that must remain in a crop for the box to count."""


@dataclass(frozen=True, slots=True, eq=False)
class PhotoChanges:
    """A random crop of each picture, which may be mirrored and is lighter or darker.

    Args:
        scale: Size of the crop as a share of the picture, [B, 2] (across, down). A negative size
            mirrors the picture.
        shift: Offset of the crop's centre from the picture's centre, in half sides, [B, 2].
        light: Value added to every pixel, [B, 1].
        contrast: Factor of the distance from a middle grey, [B, 1].
    """

    scale: Tensor
    shift: Tensor
    light: Tensor
    contrast: Tensor

    @classmethod
    def draw(cls, count: int, generator: torch.Generator, least: float = 0.7) -> Self:
        """Draw changes for `count` pictures.

        Args:
            count: Number of pictures.
            generator: Source of randomness.
            least: Smallest side of a crop as a share of the picture's side.
        """

        def draw(low: float, high: float, width: int = 1) -> Tensor:
            return torch.rand(count, width, generator=generator) * (high - low) + low

        scale_B2 = draw(least, 1, 2)
        shift_B2 = draw(-1, 1, 2) * (1 - scale_B2)
        mirror_B1 = torch.where(draw(0, 1) < 0.5, -1.0, 1.0)
        signed_B2 = torch.cat([scale_B2[:, :1] * mirror_B1, scale_B2[:, 1:]], 1)
        return cls(signed_B2, shift_B2, draw(-20, 20), draw(0.8, 1.2))

    def of(self, chosen: IntArray) -> PhotoChanges:
        """Return the changes of the chosen pictures."""
        rows = torch.from_numpy(chosen)
        return PhotoChanges(
            self.scale[rows], self.shift[rows], self.light[rows], self.contrast[rows]
        )

    def change(self, pixels_BHWC: Tensor) -> Tensor:
        """Return the changed pictures as uint8 with the same shape."""
        count, side = len(pixels_BHWC), pixels_BHWC.shape[1]
        theta = torch.zeros(count, 2, 3)
        theta[:, 0, 0], theta[:, 1, 1] = self.scale.T
        theta[:, :, 2] = self.shift
        x = pixels_BHWC.permute(0, 3, 1, 2).float()
        grid = F.affine_grid(theta.to(x.device), [count, 3, side, side], align_corners=False)
        cut = F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)
        light, contrast = (one[..., None, None].to(x.device) for one in (self.light, self.contrast))
        changed = (cut - 110) * contrast + 110 + light
        return changed.clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)

    def ground(self, index: int, sentence: GroundedSentence) -> GroundedSentence:
        """Return a sentence about picture `index` with its boxes moved into the crop.

        A box is left out if the crop shows a smaller share of it than `MIN_KEPT_SHARE`.
        """
        scale_2, shift_2 = self.scale[index].double().numpy(), self.shift[index].double().numpy()
        places: list[tuple[int, tuple[Box, ...]]] = []
        for word, boxes in sentence.boxes:
            moved = [_move_box(box, scale_2, shift_2) for box in boxes]
            seen = tuple(box for box in moved if box is not None)
            if seen:
                places.append((word, seen))
        found: Boxes = tuple(places)
        return GroundedSentence(sentence.text, found)


def _move_box(
    box: Box, scale_2: np.ndarray[tuple[int], np.dtype[np.float64]], shift_2: np.ndarray
) -> Box | None:
    """Return a box as shares of the crop, or None if the crop shows too little of it."""
    corners_22 = np.array(box).reshape(2, 2)
    # `affine_grid` measures from the centre, in half sides.
    inside_22 = (((corners_22 * 2 - 1) - shift_2) / scale_2 + 1) / 2
    whole = abs(float(np.prod(inside_22[1] - inside_22[0])))
    inside_22 = np.sort(inside_22, 0).clip(0, 1)
    left, top, right, bottom = inside_22.ravel().tolist()
    if (right - left) * (bottom - top) < MIN_KEPT_SHARE * whole or whole == 0:
        return None
    return left, top, right, bottom

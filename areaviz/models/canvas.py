"""The square that a network sees of a request's picture, and its mapping to picture pixels.

Shapes: H, W of the picture, S side of the network's square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.trace.areas import IntArray
from areaviz.trace.record import Field
from areaviz.trace.request import Picture

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

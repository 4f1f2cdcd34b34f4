"""Pictures inside figures: resized, outlined, averaged, and written as data URLs.

Shapes of pictures (HWC): height and width in pixels, channels. Shapes of matrices (RC): rows,
columns.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from math import ceil

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from areaviz.draw.theme import DIVERGING, SEQUENCE
from areaviz.trace.areas import FloatArray

Pixels = npt.NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom. Right and bottom are exclusive."""

CASING = "#111111"
"""Colour of the dark edges of lines on pictures.

The line is visible on dark pictures, and the edge is visible on bright pictures.
"""
CELLS = 96
"""A matrix with more rows or columns than this is drawn as a picture."""
PIXELS = 400
"""Maximum side of such a picture in pixels. Even a picture of noise then has less than 300 KB."""
_COLOURS = 256
# Index in the colour table for a missing value, which is transparent.
_OUTSIDE = 255
_STEPS = np.minimum(np.arange(_COLOURS) / (_OUTSIDE - 1), 1)
_TABLE, _SIGNED_TABLE = SEQUENCE(_STEPS)[:, :3] * 255, DIVERGING(_STEPS)[:, :3] * 255


def gray_to_rgb(grey_HW: Pixels) -> Pixels:
    """Convert grey values [H, W] to red, green and blue [H, W, 3]."""
    return np.repeat(grey_HW[..., None], 3, 2)


def shrink_to_fit(pixels_HWC: Pixels, longest: int) -> Pixels:
    """Resize a picture so that its sides have at most `longest` pixels.

    Small pictures are enlarged by a whole factor, which keeps their pixels sharp squares.
    """
    height, width = pixels_HWC.shape[:2]
    side = max(height, width)
    if side <= longest:
        return _enlarge(pixels_HWC, longest // side, longest // side)
    size = max(1, round(width * longest / side)), max(1, round(height * longest / side))
    return np.asarray(Image.fromarray(pixels_HWC).resize(size, Image.Resampling.LANCZOS))


def repeat_to_minimum_size(pixels_HWC: Pixels, least: int) -> Pixels:
    """Repeat the pixels of a picture until both sides have at least `least` pixels."""
    height, width = pixels_HWC.shape[:2]
    return _enlarge(pixels_HWC, ceil(least / height), ceil(least / width))


def _enlarge(pixels: Pixels, down: int, across: int) -> Pixels:
    return pixels.repeat(down, 0).repeat(across, 1)


def scale_box(box: Box, scale: float) -> Box:
    """Scale a box to a resized picture, rounded to whole pixels."""
    left, top, right, bottom = (round(side * scale) for side in box)
    return left, top, right, bottom


def draw_boxes(pixels_HWC: Pixels, boxes: Sequence[tuple[Box, str]], line: int = 3) -> Pixels:
    """Draw boxes in colours ("#rrggbb") just inside their edges.

    Args:
        pixels_HWC: the picture.
        boxes: boxes in pixels of the picture, with their colours.
        line: width of the lines in pixels, without their dark edge.
    """
    image = Image.fromarray(pixels_HWC)
    pen = ImageDraw.Draw(image)
    for (left, top, right, bottom), colour in boxes:
        right, bottom = max(left, right - 1), max(top, bottom - 1)
        pen.rectangle((left, top, right, bottom), outline=CASING, width=line + 2)
        if left + 2 < right and top + 2 < bottom:
            pen.rectangle((left + 1, top + 1, right - 1, bottom - 1), outline=colour, width=line)
    return np.asarray(image)


def to_data_uri(pixels_HWC: Pixels) -> str:
    """Encode a picture as a data URL: PNG if it has at most 256 colours, and otherwise JPEG."""
    image = Image.fromarray(pixels_HWC)
    if image.getcolors(_COLOURS) is None:
        return _encode_image(image, "jpeg", quality=85, subsampling=0)
    few = image.quantize(_COLOURS, dither=Image.Dither.NONE)
    return _encode_image(few, "png", optimize=True)


def compute_block_size(count: int, limit: int = PIXELS) -> int:
    """Return the number of items per pixel with which `count` items fit in `limit` pixels."""
    return ceil(count / limit)


def average_blocks(values_RC: FloatArray, rows: int, columns: int) -> FloatArray:
    """Average blocks of `rows` x `columns` cells: float32 [ceil(R/rows), ceil(C/columns)].

    The last blocks may be smaller. NaN cells (outside the picture) are left out of the mean. A
    block that contains only NaN stays NaN.
    """
    inside_RC = ~np.isnan(values_RC)
    kept_RC = values_RC if inside_RC.all() else np.where(inside_RC, values_RC, 0)
    total = _sum_blocks(kept_RC, rows, columns)
    count = _sum_blocks(inside_RC, rows, columns)
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means.astype(np.float32)


def _sum_blocks(
    values_RC: npt.NDArray[np.generic], rows: int, columns: int
) -> npt.NDArray[np.float64]:
    height, width = values_RC.shape
    wide = np.add.reduceat(values_RC, range(0, width, columns), axis=1, dtype=np.float64)
    return np.asarray(np.add.reduceat(wide, range(0, height, rows), axis=0))


def encode_matrix(values_RC: FloatArray, top: float, is_signed: bool = False) -> str:
    """Encode a matrix as the data URL of a PNG in the theme's colours, with NaN transparent.

    The scale goes from 0 to `top`, or from -`top` to `top` if values are signed.
    """
    relative_RC = np.nan_to_num(values_RC) / top
    if is_signed:
        relative_RC = (relative_RC + 1) / 2
    scaled_RC = np.clip(relative_RC, 0, 1) * (_OUTSIDE - 1)
    index_RC = np.where(np.isnan(values_RC), _OUTSIDE, scaled_RC.round()).astype(np.uint8)
    # Enlarge cells here, because browsers smooth pictures that they enlarge. Repeated cells
    # compress well.
    rows, columns = index_RC.shape
    large = _enlarge(index_RC, max(1, PIXELS // rows), max(1, PIXELS // columns))
    image = Image.fromarray(large, "P")
    table = _SIGNED_TABLE if is_signed else _TABLE
    image.putpalette(table.round().astype(np.uint8).tobytes())
    return _encode_image(image, "png", optimize=True, transparency=_OUTSIDE)


def _encode_image(image: Image.Image, kind: str, **options: object) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind};base64," + base64.b64encode(buffer.getvalue()).decode("ascii")

"""Pictures inside figures: brought to a size, outlined, and written as data addresses."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Pixels = npt.NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom, the last two exclusive."""

CASING = "#111111"
"""A dark edge around lines on pictures: what is bright shows on dark pictures, the edge on bright
ones.
"""
_PALETTE = 256


def coloured(grey_HW: Pixels) -> Pixels:
    """Grey values [H, W] as red, green and blue [H, W, 3]."""
    return np.repeat(grey_HW[..., None], 3, 2)


def fitted(pixels_HWC: Pixels, longest: int) -> Pixels:
    """A picture with sides of at most `longest` pixels; small ones are enlarged by a whole factor
    and stay crisp.
    """
    height, width = pixels_HWC.shape[:2]
    factor = longest // max(height, width)
    if factor:
        return pixels_HWC.repeat(factor, 0).repeat(factor, 1)
    wide, high = (
        max(1, round(length * longest / max(height, width))) for length in (width, height)
    )
    return np.asarray(Image.fromarray(pixels_HWC).resize((wide, high), Image.Resampling.LANCZOS))


def widened(pixels_HWC: Pixels, least: int) -> Pixels:
    """A picture with both sides of at least `least` pixels: a thin one is repeated side by side, so
    that it is seen.
    """
    down, across = (-(-least // length) for length in pixels_HWC.shape[:2])
    return pixels_HWC.repeat(down, 0).repeat(across, 1)


def outlined(pixels_HWC: Pixels, boxes: Sequence[tuple[Box, str]], line: int = 3) -> Pixels:
    """The picture with boxes in colours ("#rrggbb") drawn just inside their edges, `line` pixels
    wide and edged.
    """
    image = Image.fromarray(pixels_HWC)
    pen = ImageDraw.Draw(image)
    for (left, top, right, bottom), colour in boxes:
        inner = (left, top, max(left, right - 1), max(top, bottom - 1))
        pen.rectangle(inner, outline=CASING, width=line + 2)
        shrunk = (inner[0] + 1, inner[1] + 1, inner[2] - 1, inner[3] - 1)
        if shrunk[0] < shrunk[2] and shrunk[1] < shrunk[3]:
            pen.rectangle(shrunk, outline=colour, width=line)
    return np.asarray(image)


def uri(pixels_HWC: Pixels) -> str:
    """A picture as a data address: PNG where it has few colours and so stays exact, else JPEG."""
    buffer, image = io.BytesIO(), Image.fromarray(pixels_HWC)
    few = image.getcolors(_PALETTE) is not None
    if few:
        image.quantize(_PALETTE, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    else:
        image.save(buffer, "JPEG", quality=85, subsampling=0)
    return f"data:image/{'png' if few else 'jpeg'};base64," + base64.b64encode(
        buffer.getvalue()
    ).decode("ascii")

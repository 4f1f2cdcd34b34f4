"""Pictures of more than eight bits a channel, shown as bright as their camera meant them.

Cameras, microscopes and scanners write 8, 10, 12 or 14 bits into numbers of 16. Pillow keeps the
higher byte of a colour, which makes such a picture nearly black. Its raw modes also read the lower
byte. Shapes: H and W pixels, C channels.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

CAMERA_BITS = (8, 10, 12, 14)
"""How many bits of 16 cameras, microscopes and scanners use."""
_OTHER_BYTE = {
    ";16B": ";16L",
    ";16L": ";16B",
    ";16N": ";16B" if sys.byteorder == "little" else ";16L",
}
_GREY_AND_ALPHA = "LA;16B"
"""Pillow's raw mode of a PNG, which has no counterpart for the lower bytes: all four are read."""


def reduce_grey_to_eight_bits(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Return greys of 16 bits with eight, and a note where fewer bits are used."""
    values_HW = np.asarray(image).astype(np.uint32)
    most = int(values_HW.max())
    bits = _count_bits(most)
    pixels_HW = (values_HW * 255 // (2**bits - 1)).astype(np.uint8)
    return Image.fromarray(pixels_HW), _describe_reduction("greys", bits) if most else ()


def reduce_colours_to_eight_bits(
    content: bytes, image: Image.Image
) -> tuple[Image.Image, tuple[str, ...]]:
    """Return colours of 16 bits with eight, and a note where fewer bits are used.

    Args:
        content: the file.
        image: its picture as Pillow reads it, of any depth.

    Returns:
        The picture as it is where its channels have eight bits or use all of 16.
    """
    if image.mode not in ("RGB", "RGBA") or "transparency" in image.info:
        return image, ()
    high_HWC = np.asarray(image)
    # One of 14 bits has at most six in its higher byte.
    if high_HWC[..., :3].max() >= 1 << 6:
        return image, ()
    low_HWC = _lower_bytes(content, image)
    if low_HWC is None:
        return image, ()
    most = _find_largest_value(high_HWC[..., :3], low_HWC[..., :3])
    channels = [_shift_to_upper_bits(high_HWC[..., :3], low_HWC[..., :3], _count_bits(most))]
    if image.mode == "RGBA":
        alpha = high_HWC[..., 3:], low_HWC[..., 3:]
        channels.append(_shift_to_upper_bits(*alpha, _count_bits(_find_largest_value(*alpha))))
    found = Image.fromarray(np.concatenate(channels, axis=-1))
    return found, _describe_reduction("colours", _count_bits(most)) if most else ()


def stretch_greys(image: Image.Image) -> Image.Image:
    """Return greys of 32 bits from black to white, as nothing tells their range.

    Values that are not numbers become black.
    """
    # Halved, as the span of two single precision numbers may be none.
    values = np.asarray(image).astype(np.float32) / 2
    known = np.isfinite(values)
    low, high = np.float32(0), np.float32(1)
    if known.any():
        low, high = values[known].min(), values[known].max()
    shares = (np.where(known, values, low) - low) / max(high - low, np.finfo(np.float32).tiny)
    return Image.fromarray((shares * 255).round().astype(np.uint8))


def _count_bits(most: int) -> int:
    return next((bits for bits in CAMERA_BITS if most < 2**bits), 16)


def _describe_reduction(what: str, bits: int) -> tuple[str, ...]:
    if bits == 16:
        return ()
    return (
        f"Its {what} use only {bits} of 16 bits, so {2**bits - 1:,} is shown as the brightest.",
    )


def _lower_bytes(content: bytes, image: Image.Image) -> npt.NDArray[np.uint8] | None:
    """Return the lower byte of every channel [H, W, C], None where channels have eight bits."""
    again = Image.open(io.BytesIO(content), formats=(image.format or "",))
    tiles, raw = [], ""
    for tile in again.tile:
        args: tuple[Any, ...] = (tile.args,) if isinstance(tile.args, str) else tile.args or ("",)
        raw, *rest = args
        if raw == _GREY_AND_ALPHA:
            other = "RGBA"
        elif raw[-4:] in _OTHER_BYTE:
            other = raw[:-4] + _OTHER_BYTE[raw[-4:]]
        else:
            return None
        tiles.append(tile._replace(args=(other, *rest) if rest else other))
    is_grey = raw == _GREY_AND_ALPHA
    again.tile = tiles
    bytes_HWC = np.asarray(again)
    return bytes_HWC[..., [1, 1, 1, 3]] if is_grey else bytes_HWC


def _find_largest_value(high: npt.NDArray[np.uint8], low: npt.NDArray[np.uint8]) -> int:
    """Return the largest number of 16 bits, without an array of such numbers."""
    top = int(high.max())
    return top << 8 | int(low[high == top].max())


def _shift_to_upper_bits(
    high: npt.NDArray[np.uint8], low: npt.NDArray[np.uint8], bits: int
) -> npt.NDArray[np.uint8]:
    """Return the upper eight of the `bits` that are used, by shifts, which take least memory."""
    upper, lower = np.uint8(16 - bits), np.uint8(bits - 8)
    return np.bitwise_or(np.left_shift(high, upper), np.right_shift(low, lower), dtype=np.uint8)

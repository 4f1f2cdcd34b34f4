"""Pictures with more than eight bits per channel, converted to eight bits in their full brightness.

Cameras, microscopes and scanners store values of 8, 10, 12 or 14 bits in 16-bit numbers. Pillow
keeps only the upper byte of a colour, which makes such a picture nearly black. This module also
reads the lower byte, through another raw mode of Pillow. A raw mode describes the order of the
bytes in a file. Shapes: H and W pixels, C channels.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

CAMERA_BITS = (8, 10, 12, 14)
"""Numbers of bits that cameras, microscopes and scanners use in a 16-bit value."""
_OTHER_BYTE = {
    ";16B": ";16L",
    ";16L": ";16B",
    ";16N": ";16B" if sys.byteorder == "little" else ";16L",
}
_GREY_AND_ALPHA = "LA;16B"
"""Pillow's raw mode of a grey PNG with alpha. No raw mode reads its lower bytes alone, so all four
bytes of a pixel are read."""


def reduce_grey_to_eight_bits(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Convert a grey picture of 16 bits to eight bits.

    Returns:
        The picture, and a note for the user if the picture uses only some of the 16 bits.
    """
    values_HW = np.asarray(image).astype(np.uint32)
    most = int(values_HW.max())
    bits = _count_bits(most)
    pixels_HW = (values_HW * 255 // (2**bits - 1)).astype(np.uint8)
    return Image.fromarray(pixels_HW), _describe_reduction("greys", bits) if most else ()


def reduce_colours_to_eight_bits(
    content: bytes, image: Image.Image
) -> tuple[Image.Image, tuple[str, ...]]:
    """Convert a colour picture of 16 bits to eight bits.

    Args:
        content: the file.
        image: the picture in the file as Pillow opens it, with any number of bits.

    Returns:
        The picture, and a note for the user if it uses only some of the 16 bits. A picture with
        eight bits per channel, or one that uses all 16 bits, is returned unchanged.
    """
    if image.mode not in ("RGB", "RGBA") or "transparency" in image.info:
        return image, ()
    high_HWC = np.asarray(image)
    # A value of at most 14 bits uses only six bits of its upper byte.
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
    """Convert a grey picture of 32 bits to eight bits, from the darkest to the lightest value.

    The file does not state the range of its values. Values that are not finite become black.
    """
    # Halve the values, because the difference of two large single-precision numbers may overflow.
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
    """Return the lower byte of every channel [H, W, C], or None if channels have eight bits."""
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
    """Return the largest 16-bit value, from its upper and lower bytes.

    The bytes are not combined to an array of 16-bit values, which would take more memory.
    """
    top = int(high.max())
    return top << 8 | int(low[high == top].max())


def _shift_to_upper_bits(
    high: npt.NDArray[np.uint8], low: npt.NDArray[np.uint8], bits: int
) -> npt.NDArray[np.uint8]:
    """Return the upper eight of the `bits` used bits of each value.

    Shifts of the two byte arrays take the least memory.
    """
    upper, lower = np.uint8(16 - bits), np.uint8(bits - 8)
    return np.bitwise_or(np.left_shift(high, upper), np.right_shift(low, lower), dtype=np.uint8)

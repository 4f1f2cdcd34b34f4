"""Pictures: safe decoding of uploads, with conversion of more than eight bits per channel.

Read `decode_picture` first.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.media.formats import name_file_kind
from areaviz.trace.errors import InputError
from areaviz.trace.request import MAX_PICTURE_SIDE, Picture

# Pictures with more than eight bits per channel, converted to eight bits in their full brightness.
#
# Cameras, microscopes and scanners store values of 8, 10, 12 or 14 bits in 16-bit numbers. Pillow
# keeps only the upper byte of a colour, which makes such a picture nearly black. The functions
# below also read the lower byte, through another raw mode of Pillow. A raw mode describes the order
# of the bytes in a file. Shapes: H and W pixels, C channels.


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


# Safe decoding of uploaded pictures: any file becomes a small RGB picture or a clear error.
#
# The content of a file determines its format, never its name. The size is read from the header and
# checked before any pixel is decoded.


PICTURE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
PICTURE_FORMATS_TEXT = "JPEG, PNG, WebP, GIF, BMP or TIFF"
MAX_PICTURE_MEGABYTES = 20
MAX_MEGAPIXELS = 16
MAX_BASELINE_MEGAPIXELS = 64
"""Limit for a baseline JPEG with one scan. Such a file can be decoded at a fraction of its size."""
MEBIBYTE = 1 << 20
"""Unit for bytes and pixels. It exceeds a million, so pictures of a 16-megapixel camera fit."""

MAX_SCANS, MAX_SEGMENTS = 100, 10_000
"""Limits for the parts of a JPEG. Decoding a scan of a few bytes can take the time of a whole
picture. Ordinary files have about ten scans.
"""

MAX_COUNTED_BYTES = 4 * MEBIBYTE
"""Size in bytes above which the frames of a GIF are not counted. A GIF may have a million frames.
"""

_TILE_WIDTH, _TILE_LENGTH = 322, 323
"""Numbers of the TIFF tags for the width and length of a tile."""
_SCAN, _END = b"\xff\xda", b"\xff\xd9"
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")
"""The start of a JPEG segment. The excluded markers have no segment or occur within a scan."""

_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""The transposition that turns a picture upright, by EXIF orientation."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture, and a sentence for the user about each change that was made to it."""

    picture: Picture
    notes: tuple[str, ...]


def decode_picture(content: bytes, name: str = "upload") -> Decoded:
    """Decode the picture in a file. Its name is `name`, a hyphen and its digest.

    The result is the first frame, upright and in RGB, with sides of 1 to `MAX_PICTURE_SIDE`
    pixels. Transparent parts become white.

    Raises:
        InputError: The file is empty, has more than 20 MB or 16 megapixels (64 for a baseline
            JPEG), is damaged or has another format.
    """
    scans = _check_bytes(content)
    with _translate_decoding_errors(_describe_unreadable_file(content)):
        image: Image.Image = Image.open(io.BytesIO(content), formats=PICTURE_FORMATS)
    with _translate_decoding_errors(
        "The picture is damaged or incomplete. Save it again, or choose another one."
    ):
        whole = image.size
        if scans == 1 and not image.info.get("progressive"):
            _check_pixels(image.width * image.height, MAX_BASELINE_MEGAPIXELS)
            # `draft` changes `image.size`: the JPEG is decoded at a half, a quarter or an eighth of
            # its size.
            image.draft(None, (2 * MAX_PICTURE_SIDE, 2 * MAX_PICTURE_SIDE))
        _check_size(image)
        notes = _describe_frames(image, len(content))
        pixels_HWC, more = _decode_pixels(image, whole, content)
    picture = Picture.of(name, pixels_HWC)
    return Decoded(replace(picture, name=f"{name}-{picture.digest}"), (*notes, *more))


def encode_small(picture: Picture, side: int) -> bytes:
    """Encode a picture as a file with sides of at most `side` pixels.

    A picture that already fits becomes a PNG, and a picture that is scaled down becomes a JPEG.
    """
    image, file = Image.fromarray(picture.pixels), io.BytesIO()
    fits = max(image.size) <= side
    image.thumbnail((side, side))
    image.save(file, "PNG" if fits else "JPEG", quality=85)
    return file.getvalue()


def _describe_unreadable_file(content: bytes) -> str:
    """Return the error for a file that cannot be opened. It names the format if it is known."""
    kind = name_file_kind(content)
    formats = PICTURE_FORMATS_TEXT.replace(",", "").split()
    is_known = any(kind.endswith(f" {name} picture") for name in formats)
    if is_known:
        return (
            f"The file is {kind}, but it is damaged or stores its pixels in a way that cannot"
            " be read. Save it as JPEG or PNG and choose that file."
        )
    if kind:
        return (
            f"The file is {kind}, but only {PICTURE_FORMATS_TEXT} pictures can be read. Save it as"
            " JPEG or PNG and choose that file."
        )
    return (
        f"The file is not a {PICTURE_FORMATS_TEXT} picture, or it is damaged. Save it as JPEG or"
        " PNG"
        " and choose that file."
    )


def _check_bytes(content: bytes) -> int:
    """Check the size and header of an uploaded file before decoding it.

    Returns:
        The number of scans of a JPEG, or 0 for other formats.

    Raises:
        InputError: The file is empty or too large, or a JPEG has too many parts.
    """
    if not content:
        raise InputError(f"The file is empty. Choose a {PICTURE_FORMATS_TEXT} picture.")
    if len(content) > MAX_PICTURE_MEGABYTES * MEBIBYTE:
        raise InputError(
            f"The file has {len(content) / MEBIBYTE:,.1f} MB, but the limit is"
            f" {MAX_PICTURE_MEGABYTES} MB."
            " Make the picture smaller and choose it again."
        )
    return _check_scans(content) if content.startswith(b"\xff\xd8") else 0


def _check_size(image: Image.Image) -> None:
    """Raise InputError if decoding would take too much memory."""
    # TIFF decoding allocates a whole tile, even for a tiny picture.
    tags = getattr(image, "tag_v2", {})
    tile = int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_LENGTH, 0))
    _check_pixels(max(image.width * image.height, tile), MAX_MEGAPIXELS)


def _check_pixels(pixels: int, most: int) -> None:
    if pixels > most * MEBIBYTE:
        raise _make_too_large_error(f"{pixels / 1e6:,.0f} megapixels", most)


def _check_scans(jpeg: bytes) -> int:
    """Return the number of scans of a JPEG, ignoring everything after its end.

    Raises:
        InputError: The JPEG has an excessive number of scans or segments.
    """
    scans, at = 0, 2
    for _ in range(MAX_SEGMENTS):
        marker = _MARKER.search(jpeg, at)
        if not marker or marker[0] == _END:
            return scans
        scans += marker[0] == _SCAN
        if scans > MAX_SCANS:
            break
        at = marker.end() + int.from_bytes(jpeg[marker.end() : marker.end() + 2], "big")
    raise InputError("This JPEG has too many scans. Save it as PNG or as a baseline JPEG.")


def _make_too_large_error(size: str, most: int = MAX_MEGAPIXELS) -> InputError:
    return InputError(
        f"The picture has {size}, but the limit is {most} megapixels. Make it smaller and choose"
        " it again."
    )


@contextmanager
def _translate_decoding_errors(sentence: str) -> Iterator[None]:
    """Raise every error of the block as an InputError, because it decodes untrusted bytes.

    Args:
        sentence: the message for the user.
    """
    try:
        yield
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _make_too_large_error("far too many pixels") from None
    except Exception as error:  # decoders raise many kinds of errors
        raise InputError(sentence) from error


def _describe_frames(image: Image.Image, size: int) -> tuple[str, ...]:
    """Return notes for the user about an animation or a document with several pages."""
    # The other pictures in an MPO file are previews of the photograph.
    if image.format == "MPO" or not getattr(image, "is_animated", False):
        return ()
    # Counting the pages of a TIFF takes time quadratic in their number.
    cheap = image.format in ("PNG", "WEBP") or (image.format == "GIF" and size <= MAX_COUNTED_BYTES)
    frames: int = getattr(image, "n_frames", 1) if cheap else 0
    if frames:
        return (f"The first of {frames:,} frames is used.",)
    return ("Only the first frame is used.",)


def _decode_pixels(
    image: Image.Image, whole: tuple[int, int], content: bytes
) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
    """Return the pixels, uint8 [H, W, 3], and the notes. `whole` is the size stated in the file."""
    if image.format == "TIFF":
        image.load()  # turns it upright, unlike other formats
    plain, notes = _reduce_to_eight_bits(image, content)
    before = plain.size if image.format == "TIFF" else whole
    # Scale the picture down before turning it, because this takes the least memory. `thumbnail`
    # decodes a JPEG at a fraction of its size, and averages pixels of other formats before it
    # filters.
    plain.thumbnail(
        (MAX_PICTURE_SIDE, MAX_PICTURE_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0
    )
    after, turned = plain.size, _turn_upright(plain, image)
    if turned.size != after:
        before = before[::-1]
    if after[0] * after[1] < before[0] * before[1]:
        sizes = [f"{width:,} x {height:,}" for width, height in (before, turned.size)]
        notes = (*notes, f"Made smaller, from {sizes[0]} to {sizes[1]} pixels.")
    return np.asarray(_paste_on_white(turned)), notes


def _reduce_to_eight_bits(
    image: Image.Image, content: bytes
) -> tuple[Image.Image, tuple[str, ...]]:
    """Return a picture in a mode that can be scaled down: eight bits per channel, no palette."""
    if image.mode.startswith("I;16"):
        return reduce_grey_to_eight_bits(image)
    if image.mode in ("I", "F"):
        return stretch_greys(image), (
            "Its darkest grey is shown as black and its lightest as white.",
        )
    if image.format in ("PNG", "TIFF"):
        image, notes = reduce_colours_to_eight_bits(content, image)
        if notes:
            return image, notes
    if image.has_transparency_data:
        return image.convert("RGBA"), ()
    if image.mode in ("1", "P"):
        return image.convert("RGB"), ()
    return image, ()


def _turn_upright(picture: Image.Image, original: Image.Image) -> Image.Image:
    """Turn the picture upright by its EXIF orientation. Unreadable metadata are ignored."""
    orientation = 1
    with suppress(Exception):
        orientation = original.getexif().get(_ORIENTATION, 1)
    return picture.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else picture


def _paste_on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image.convert("RGB")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white

"""Uploaded pictures, made safe: any bytes become a small RGB picture or a sentence of refusal.

What a file is follows from its content, never from its name. Its size is read from the header and
checked before any pixel is decoded.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.data.foreign_files import kind_of
from areaviz.trace.errors import InputError
from areaviz.trace.picture import MAX_SIDE, Picture

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
FORMATS_TEXT = "JPEG, PNG, WebP, GIF, BMP or TIFF"
MAX_MEGABYTES = 20
MAX_MEGAPIXELS = 16
MAX_BASELINE_MEGAPIXELS = 64
"""Of a JPEG in one scan, which can be read at a fraction of its size."""
MEGA = 1 << 20
"""Counts pixels, too, so that cameras sold with 16 megapixels fit."""

MAX_SCANS, MAX_SEGMENTS = 100, 10_000
"""Of a JPEG. A scan may be a few bytes and costs the time of a whole picture; ordinary ones have
about ten.
"""

COUNTED = 4 * MEGA
"""Frames of a larger GIF are not counted: it may have a million empty ones."""

_CAMERA_BITS = (8, 10, 12, 14)
"""How many bits of a grey of 16 bits cameras, microscopes and scanners use."""
_TILE_WIDTH, _TILE_LENGTH = 322, 323
"""Tags of a TIFF."""
_SCAN, _END = b"\xff\xda", b"\xff\xd9"
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")
"""Begins a segment of a JPEG; others stand alone, or within a scan."""

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
"""What turns a picture of an EXIF orientation upright."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture and, for the reader, a sentence for each thing that was changed."""

    picture: Picture
    notes: tuple[str, ...]


def decode(content: bytes, name: str = "upload") -> Decoded:
    """The picture in a file's bytes, called `name`, a hyphen and its digest.

    It is RGB and upright, the first frame, on white where it was transparent, with sides of 1 to
    `MAX_SIDE` pixels.

    Raises:
        InputError: the file is empty, has more than 20 MB or 16 megapixels (64 as a baseline
            JPEG), is damaged or of another format.
    """
    scans = _check_bytes(content)
    with _refusals(_unreadable(content)):
        image: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
    with _refusals("The picture is damaged or cut short; save it again, or choose another one."):
        whole = image.size
        if scans == 1 and not image.info.get("progressive"):
            _check_pixels(image.width * image.height, MAX_BASELINE_MEGAPIXELS)
            # Changes `image.size`: what is decoded is a half, a quarter or an eighth of it.
            image.draft(None, (2 * MAX_SIDE, 2 * MAX_SIDE))
        _check_size(image)
        notes = _about_frames(image, len(content))
        pixels_HWC, more = _decoded(image, whole)
    picture = Picture.of(name, pixels_HWC)
    return Decoded(replace(picture, name=f"{name}-{picture.digest}"), (*notes, *more))


def small_file(picture: Picture, side: int) -> bytes:
    """The picture as a JPEG with sides of at most `side` pixels, or as a PNG if it is smaller."""
    image, file = Image.fromarray(picture.pixels), io.BytesIO()
    fits = max(image.size) <= side
    image.thumbnail((side, side))
    image.save(file, "PNG" if fits else "JPEG", quality=85)
    return file.getvalue()


def _unreadable(content: bytes) -> str:
    """Return the refusal of a file that is not opened, which names it where it is known."""
    kind = kind_of(content)
    if kind and not any(f" {name} " in kind for name in FORMATS_TEXT.replace(",", "").split()):
        return (
            f"The file is {kind}, but only {FORMATS_TEXT} pictures can be read; save it as JPEG or"
            " PNG and choose that file."
        )
    return (
        f"The file is not a {FORMATS_TEXT} picture, or it is damaged; save it as JPEG or PNG and"
        " choose that file."
    )


def _check_bytes(content: bytes) -> int:
    """Refuse a file by its bytes; returns how many scans a JPEG has, 0 for other files."""
    if not content:
        raise InputError(f"The file is empty; choose a {FORMATS_TEXT} picture.")
    if len(content) > MAX_MEGABYTES * MEGA:
        raise InputError(
            f"The file has {len(content) / MEGA:,.1f} MB but at most {MAX_MEGABYTES} are possible; "
            "make the picture smaller and choose it again."
        )
    return _check_scans(content) if content.startswith(b"\xff\xd8") else 0


def _check_size(image: Image.Image) -> None:
    """Refuse what would take too much memory to decode."""
    # Of a TIFF a whole tile is made, however small the picture.
    tags = getattr(image, "tag_v2", {})
    tile = int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_LENGTH, 0))
    _check_pixels(max(image.width * image.height, tile), MAX_MEGAPIXELS)


def _check_pixels(pixels: int, most: int) -> None:
    if pixels > most * MEGA:
        raise _too_large(f"{pixels / 1e6:,.0f} megapixels", most)


def _check_scans(jpeg: bytes) -> int:
    """How many scans a JPEG has; one that goes over its picture again and again is refused.

    What follows its end is ignored.
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
    raise InputError(
        "The JPEG has far more parts than a picture needs; save it again as PNG or as an ordinary"
        " JPEG."
    )


def _too_large(size: str, most: int = MAX_MEGAPIXELS) -> InputError:
    return InputError(
        f"The picture has {size} but at most {most} megapixels are possible; "
        "make it smaller and choose it again."
    )


@contextmanager
def _refusals(sentence: str) -> Iterator[None]:
    """Turn whatever is raised on a stranger's bytes into an InputError."""
    try:
        yield
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large("far too many pixels") from None
    except Exception as error:  # decoders raise nearly everything there is
        raise InputError(sentence) from error


def _about_frames(image: Image.Image, size: int) -> tuple[str, ...]:
    """What to tell of an animation or of pages."""
    # Further pictures of a photograph are only its previews.
    if image.format == "MPO" or not getattr(image, "is_animated", False):
        return ()
    # Counting pages of a TIFF takes time that grows with their square.
    cheap = image.format in ("PNG", "WEBP") or (image.format == "GIF" and size <= COUNTED)
    frames: int = getattr(image, "n_frames", 1) if cheap else 0
    if frames:
        return (f"The first of {frames:,} frames is used.",)
    return ("Only the first frame is used.",)


def _decoded(
    image: Image.Image, whole: tuple[int, int]
) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
    """The pixels, uint8 [H, W, 3], and what was changed; `whole` is the size that the file has."""
    if image.format == "TIFF":
        image.load()  # turns it upright, unlike other formats
    plain, notes = _eight_bits(image)
    before = plain.size if image.format == "TIFF" else whole
    # Made small first, then turned: that takes least memory. This decodes a JPEG at a fraction of
    # its size, and averages others before it filters.
    plain.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    after, turned = plain.size, _upright(plain, image)
    if turned.size != after:
        before = before[::-1]
    if after[0] * after[1] < before[0] * before[1]:
        sizes = [f"{width:,} x {height:,}" for width, height in (before, turned.size)]
        notes = (*notes, f"Made smaller, from {sizes[0]} to {sizes[1]} pixels.")
    return np.asarray(_on_white(turned)), notes


def _eight_bits(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Return a picture in a mode that can be made smaller: eight bits a channel, no palette."""
    if image.mode.startswith("I;16"):
        return _sixteen_bits(image)
    if image.mode in ("I", "F"):
        return _stretched(image), ("Its darkest grey is shown as black and its lightest as white.",)
    if image.has_transparency_data:
        return image.convert("RGBA"), ()
    if image.mode in ("1", "P"):
        return image.convert("RGB"), ()
    return image, ()


def _sixteen_bits(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Return greys of 16 bits with eight; cameras and microscopes use 10, 12 or 14 of them."""
    values_HW = np.asarray(image).astype(np.uint32)
    used = int(values_HW.max()).bit_length()
    bits = next((one for one in _CAMERA_BITS if used <= one), 16)
    pixels_HW = (values_HW * 255 // (2**bits - 1)).astype(np.uint8)
    if bits == 16 or not used:
        return Image.fromarray(pixels_HW), ()
    note = f"Its greys use only {bits} of 16 bits, so a grey of {2**bits - 1:,} is shown as white."
    return Image.fromarray(pixels_HW), (note,)


def _stretched(image: Image.Image) -> Image.Image:
    """Greys of 32 bits, whose range nothing tells; what is no number becomes black."""
    # Halved, as the span of two single precision numbers may be none.
    values = np.asarray(image).astype(np.float32) / 2
    known = np.isfinite(values)
    low, high = np.float32(0), np.float32(1)
    if known.any():
        low, high = values[known].min(), values[known].max()
    shares = (np.where(known, values, low) - low) / max(high - low, np.finfo(np.float32).tiny)
    return Image.fromarray((shares * 255).round().astype(np.uint8))


def _upright(picture: Image.Image, original: Image.Image) -> Image.Image:
    """The picture turned as the camera was held; what cannot be read of that is left."""
    orientation = 1
    with suppress(Exception):
        orientation = original.getexif().get(_ORIENTATION, 1)
    return picture.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else picture


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image.convert("RGB")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white

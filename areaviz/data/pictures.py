"""Uploaded pictures, made safe: any bytes become a small RGB picture, or one sentence that says why not.

What a file is follows from its content, never from its name. Its size is read from the header and checked before
any pixel is decoded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from areaviz.trace.errors import InputError
from areaviz.trace.picture import MAX_SIDE, Picture

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
FORMATS_TEXT = "JPEG, PNG, WebP, GIF, BMP or TIFF"
MAX_MEGABYTES = 20
MAX_MEGAPIXELS = 16
MEGA = 1 << 20
"""Pixels are counted by this too, so that the pictures of a camera sold with 16 megapixels fit."""

MAX_SCANS = 200
"""Of a JPEG; a progressive one has about ten. Each costs the time of a whole picture and may be a few bytes long."""

MAX_FRAMES = 1000
"""Frames are counted up to here."""

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
"""What brings each EXIF orientation upright; 5 to 8 exchange the sides."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A picture, and what was done to it: sentences for the reader."""

    picture: Picture
    notes: tuple[str, ...]


def decode(content: bytes, name: str = "upload") -> Decoded:
    """The picture in a file's bytes, called `name`, a hyphen and its digest.

    RGB, upright, the first frame, transparent parts on white, sides of 1 to `MAX_SIDE` pixels.

    Raises:
        InputError: the file is empty, larger than 20 MB or 16 megapixels, damaged, or of another format.
    """
    _check_bytes(content)
    with _refusals(f"The file is no {FORMATS_TEXT} picture; save it as JPEG or PNG and choose that."):
        image: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
    _check_header(image, content)
    with _refusals("The picture is damaged or cut short; save or send it again, or choose another one."):
        notes = _first_frame(image)
        pixels, more = _small_rgb(image)
    picture = Picture.of(name, np.asarray(pixels))
    return Decoded(replace(picture, name=f"{name}-{picture.digest}"), (*notes, *more))


def _check_bytes(content: bytes) -> None:
    if not content:
        raise InputError(f"The file is empty; choose a {FORMATS_TEXT} picture.")
    if len(content) > MAX_MEGABYTES * MEGA:
        raise InputError(
            f"The file has {len(content) / MEGA:,.1f} MB but at most {MAX_MEGABYTES} are possible; "
            "make the picture smaller and choose it again."
        )


def _check_header(image: Image.Image, content: bytes) -> None:
    """Refuse what would take too long or too much memory to decode."""
    pixels = image.width * image.height
    if pixels > MAX_MEGAPIXELS * MEGA:
        raise _too_large(f"{pixels / 1e6:,.0f} megapixels")
    if image.format in ("JPEG", "MPO") and content.count(b"\xff\xda") > MAX_SCANS:
        raise InputError(f"The JPEG has more than {MAX_SCANS} passes; save it again, as PNG or as an ordinary JPEG.")


def _too_large(size: str) -> InputError:
    return InputError(
        f"The picture has {size} but at most {MAX_MEGAPIXELS} megapixels are possible; "
        "make it smaller and choose it again."
    )


@contextmanager
def _refusals(sentence: str) -> Iterator[None]:
    """Turn whatever the decoder of a stranger's bytes raises into an InputError; it is not picky about what."""
    try:
        yield
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large("far too many pixels") from None
    except (Exception, Warning) as error:
        raise InputError(sentence) from error


def _first_frame(image: Image.Image) -> tuple[str, ...]:
    """Stay at the first frame; says so where there are more. A JPEG's further pictures are only its previews."""
    if image.format == "MPO" or not getattr(image, "is_animated", False):
        return ()
    frames = 1
    try:
        while frames <= MAX_FRAMES:
            image.seek(frames)
            frames += 1
    except EOFError:
        pass
    image.seek(0)
    count = f"{frames:,}" if frames <= MAX_FRAMES else f"more than {MAX_FRAMES:,}"
    return (f"The first of {count} frames is used.",)


def _small_rgb(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Decoded, made small, then upright and RGB; says what was done."""
    turn = _UPRIGHT.get(image.getexif().get(_ORIENTATION, 1))
    before = image.size if turn is None or turn <= 1 else image.size
    ...
    return image, ()

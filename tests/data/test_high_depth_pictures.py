"""Values of 8 to 16 bits in 16-bit pictures keep their brightness, in any byte order."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
import tifffile
from PIL import Image

from areaviz.media.pictures import decode_picture
from areaviz.trace.errors import InputError

Values = npt.NDArray[np.uint16]
SHARES = np.array([[0, 0.2, 0.5, 1]])


def png(values_HWC: Values) -> bytes:
    """Return a PNG with 16 bits per channel. Pillow cannot write one in colour."""
    height, width, channels = values_HWC.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values_HWC)
    kind = {2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        crc = zlib.crc32(name + data)
        file += struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)
    return file


def tiff(values_HWC: Values, order: Literal["<", ">"], compression: str | None) -> bytes:
    file = io.BytesIO()
    tifffile.imwrite(file, values_HWC, byteorder=order, photometric="rgb", compression=compression)
    return file.getvalue()


def colours(bits: int) -> Values:
    """Return red, green and blue at 0, a fifth, a half and all of the range [1, 4, 3]."""
    values_HW = np.round(SHARES * (2**bits - 1)).astype(np.uint16)
    return np.stack([values_HW, values_HW[:, ::-1], np.zeros_like(values_HW)], axis=-1)


def check(content: bytes, bits: int) -> None:
    found = decode_picture(content)
    expected = [0, 51, 127, 255]
    assert found.picture.pixels[0, :, 0].tolist() == pytest.approx(expected, abs=1)
    assert found.picture.pixels[0, :, 1].tolist() == pytest.approx(expected[::-1], abs=1)
    assert not found.picture.pixels[..., 2].any()
    said = () if bits == 16 else (f"only {bits} of 16 bits, so {2**bits - 1:,} is",)
    assert len(found.notes) == len(said) and all(map(str.__contains__, found.notes, said))


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
def test_png_colours_keep_their_brightness(bits: int) -> None:
    check(png(colours(bits)), bits)


@pytest.mark.parametrize("bits", [12, 16])
@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_tiff_colours_keep_their_brightness(
    order: Literal["<", ">"], compression: str | None, bits: int
) -> None:
    check(tiff(colours(bits), order, compression), bits)


@pytest.mark.parametrize("alpha", [4095, 65535])
def test_alpha_has_its_own_depth(alpha: int) -> None:
    opaque = np.full((1, 4, 1), alpha, np.uint16)
    check(png(np.concatenate([colours(12), opaque], axis=-1)), 12)


@pytest.mark.parametrize("bits", [10, 12, 16])
def test_grey_with_alpha_keeps_its_brightness(bits: int) -> None:
    grey = colours(bits)[..., :1]
    opaque = np.full_like(grey, 65535)
    found = decode_picture(png(np.concatenate([grey, opaque], axis=-1)))
    for channel in range(3):
        pixels = found.picture.pixels[0, :, channel].tolist()
        assert pixels == pytest.approx([0, 51, 127, 255], abs=1)
    assert bool(found.notes) == (bits < 16)


def test_transparent_parts_are_white() -> None:
    values = np.array([[[4095, 0], [4095, 65535], [0, 65535]]], np.uint16)
    assert decode_picture(png(values)).picture.pixels[0, :, 0].tolist() == [255, 255, 0]


def test_grey_alpha_tiff_refusal_names_its_kind() -> None:
    """Pillow has no raw mode for a TIFF of two channels with 16 bits."""
    file = io.BytesIO()
    values = np.full((2, 3, 2), 4095, np.uint16)
    tifffile.imwrite(file, values, photometric="minisblack", extrasamples=["unassalpha"])
    with pytest.raises(InputError, match=r"is a TIFF picture, but .* cannot be read. Save it as"):
        decode_picture(file.getvalue())


def test_dark_eight_bit_picture_stays_dark() -> None:
    file = io.BytesIO()
    Image.new("RGB", (3, 2), (15, 15, 15)).save(file, "PNG")
    found = decode_picture(file.getvalue())
    assert (found.picture.pixels == 15).all() and found.notes == ()


def test_black_colours_stay_black() -> None:
    found = decode_picture(png(np.zeros((2, 2, 3), np.uint16)))
    assert not found.picture.pixels.any() and found.notes == ()

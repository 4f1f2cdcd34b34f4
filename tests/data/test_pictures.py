"""Decoding of uploads: every kind of picture, every error, and damaged or random bytes."""

from __future__ import annotations

import io
import resource
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from areaviz.media import pictures
from areaviz.media.pictures import MEBIBYTE, PICTURE_FORMATS, decode_picture, encode_small
from areaviz.trace.errors import InputError
from areaviz.trace.request import MAX_PICTURE_SIDE, Picture

Pixels = npt.NDArray[np.uint8]
LOSSLESS = ("PNG", "BMP", "TIFF")
TURNS: dict[int, Callable[[Pixels], Pixels]] = {
    1: lambda p: p,
    2: lambda p: p[:, ::-1],
    3: lambda p: p[::-1, ::-1],
    4: lambda p: p[::-1],
    5: lambda p: p.swapaxes(0, 1),
    6: lambda p: np.rot90(p, -1),
    7: lambda p: np.rot90(p, 2).swapaxes(0, 1),
    8: lambda p: np.rot90(p, 1),
}
"""How a viewer turns stored pixels [H, W, 3] for each orientation of the EXIF standard."""


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def picture(height: int = 6, width: int = 9) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(height: int, width: int) -> Image.Image:
    y, x = np.mgrid[:height, :width]
    return Image.fromarray(
        np.stack([255 * x // width, 255 * y // height, 0 * x + 90], 2).astype(np.uint8)
    )


def png(width: int, height: int, data: bytes = b"", depth: int = 8, colour: int = 2) -> bytes:
    """Return a PNG with an arbitrary header. `data` are the uncompressed rows."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(data))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("form", LOSSLESS)
def test_pixels_stay_unchanged(form: str) -> None:
    found = decode_picture(saved(Image.fromarray(picture()), form))
    assert np.array_equal(found.picture.pixels, picture())
    assert found.notes == ()
    assert found.picture.name == f"upload-{found.picture.digest}"
    found.picture.check()


@pytest.mark.parametrize("form", sorted(set(PICTURE_FORMATS) - {"GIF"}))
def test_every_format_shows_the_same_picture(form: str) -> None:
    found = decode_picture(saved(smooth(80, 60), form)).picture
    assert np.abs(found.pixels.astype(int) - np.asarray(smooth(80, 60)).astype(int)).mean() < 4


def test_name_begins_as_requested() -> None:
    assert decode_picture(png(1, 1, b"\0\1\2\3"), "camera").picture.name.startswith("camera-")


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_pictures_are_turned_upright(form: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = decode_picture(saved(Image.fromarray(picture()), form, exif=exif))
    assert np.array_equal(found.picture.pixels, TURNS[orientation](picture()))


def test_rotated_photograph_note_uses_displayed_sizes() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    found = decode_picture(saved(smooth(300, 2000), "JPEG", exif=exif))
    assert (found.picture.width, found.picture.height) == (96, 640)
    assert found.notes == ("Made smaller, from 300 x 2,000 to 96 x 640 pixels.",)


def test_unreadable_orientation_is_ignored() -> None:
    exif = b"Exif\0\0not a directory at all"
    assert decode_picture(saved(smooth(20, 30), "JPEG", exif=exif)).picture.width == 30


def test_cmyk_becomes_rgb() -> None:
    cmyk = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    red, green, blue = (
        decode_picture(saved(cmyk, "JPEG", quality=100)).picture.pixels[4, 4].tolist()
    )
    assert red > 230 and green < 30 and blue < 30


def test_palette_becomes_its_colours() -> None:
    image = Image.new("P", (4, 2), 1)
    image.putpalette([1, 2, 3, 200, 100, 50])
    for form in ("PNG", "GIF", "BMP", "TIFF"):
        assert (decode_picture(saved(image, form)).picture.pixels == (200, 100, 50)).all()


def test_transparent_palette_entries_become_white() -> None:
    image = Image.new("P", (3, 3), 0)
    image.putpalette([9, 9, 9, 200, 100, 50])
    image.putpixel((1, 1), 1)
    pixels = decode_picture(saved(image, "PNG", transparency=0)).picture.pixels
    assert pixels[1, 1].tolist() == [200, 100, 50] and pixels[0, 0].tolist() == [255, 255, 255]


def test_transparent_colour_becomes_white() -> None:
    image = Image.new("RGB", (2, 1), (10, 20, 30))
    image.putpixel((1, 0), (40, 50, 60))
    pixels = decode_picture(saved(image, "PNG", transparency=(10, 20, 30))).picture.pixels
    assert pixels.tolist() == [[[255, 255, 255], [40, 50, 60]]]


@pytest.mark.parametrize(
    ("mode", "ink", "seen"),
    [("RGBA", (0, 100, 200, 51), (204, 224, 244)), ("LA", (0, 51), (204,) * 3)],
)
def test_alpha_is_blended_onto_white(
    mode: str, ink: tuple[int, ...], seen: tuple[int, ...]
) -> None:
    pixels = decode_picture(saved(Image.new(mode, (3, 3), ink), "PNG")).picture.pixels
    assert (np.abs(pixels.astype(int) - seen) <= 1).all()


def test_black_and_white() -> None:
    image = Image.new("1", (9, 1))
    image.putpixel((4, 0), 1)
    assert (
        decode_picture(saved(image, "PNG")).picture.pixels[0, :, 0].tolist()
        == [0] * 4 + [255] + [0] * 4
    )


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(form: str) -> None:
    values = np.array([[0, 257, 514, 32896, 65535]], dtype=np.uint16)
    pixels = decode_picture(saved(Image.fromarray(values), form)).picture.pixels
    assert pixels[0, :, 1].tolist() == [0, 1, 2, 128, 255]


@pytest.mark.parametrize("bits", [8, 10, 12, 14])
@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_camera_greys_keep_their_brightness(form: str, bits: int) -> None:
    """Microscopes store 12 bits in 16, so the highest 12-bit value is white."""
    most = 2**bits - 1
    values = np.array([[0, most // 5, most // 2, most]], dtype=np.uint16)
    found = decode_picture(saved(Image.fromarray(values), form))
    assert found.picture.pixels[0, :, 1].tolist() == pytest.approx([0, 51, 127, 255], abs=1)
    assert f"only {bits} of 16 bits, so {most:,} is" in found.notes[0]


def test_black_sixteen_bit_picture_stays_black() -> None:
    found = decode_picture(saved(Image.fromarray(np.zeros((2, 2), np.uint16)), "PNG"))
    assert not found.picture.pixels.any() and found.notes == ()


def test_sixteen_bit_colour_is_scaled() -> None:
    row = b"\0" + struct.pack(">6H", 0, 65535, 32896, 257, 257, 257)
    assert decode_picture(png(2, 1, row, depth=16)).picture.pixels.tolist() == [
        [[0, 255, 128], [1, 1, 1]]
    ]


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([-5.0, 0.0, 5.0], [0, 128, 255]),
        ([np.nan, 1.0, np.inf, 3.0], [0, 0, 0, 255]),
        ([7.0, 7.0], [0, 0]),
        ([np.nan], [0]),
        ([-3e38, 0.0, 3e38], [0, 128, 255]),
    ],
)
def test_floats_are_stretched_with_a_note(values: list[float], seen: list[int]) -> None:
    found = decode_picture(saved(Image.fromarray(np.array([values], dtype=np.float32)), "TIFF"))
    assert found.picture.pixels[0, :, 0].tolist() == seen
    assert found.notes == ("Its darkest grey is shown as black and its lightest as white.",)


def test_integers_of_32_bits_are_stretched() -> None:
    values = np.array([[-100_000, 0, 100_000]], dtype=np.int32)
    assert decode_picture(saved(Image.fromarray(values), "TIFF")).picture.pixels[
        0, :, 0
    ].tolist() == [
        0,
        128,
        255,
    ]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("GIF", "The first of 3 frames is used."),
        ("PNG", "The first of 3 frames is used."),
        ("WEBP", "The first of 3 frames is used."),
        ("TIFF", "Only the first frame is used."),
    ],
)
def test_first_frame_of_an_animation_is_used(form: str, sentence: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime", "blue")]
    options = {"lossless": True} if form == "WEBP" else {}
    found = decode_picture(
        saved(frames[0], form, save_all=True, append_images=frames[1:], **options)
    )
    assert found.picture.pixels[4, 4].tolist() == [255, 0, 0]
    assert found.notes == (sentence,)


def test_frames_of_a_large_gif_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_COUNTED_BYTES", 10)
    content = saved(
        Image.new("L", (8, 8)), "GIF", save_all=True, append_images=[Image.new("L", (8, 8), 99)]
    )
    assert decode_picture(content).notes == ("Only the first frame is used.",)


def test_photograph_previews_are_not_frames() -> None:
    content = saved(smooth(30, 40), "MPO", save_all=True, append_images=[smooth(15, 20)])
    found = decode_picture(content)
    assert (found.picture.width, found.notes) == (40, ())


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_large_pictures_are_reduced_with_a_note(form: str) -> None:
    found = decode_picture(saved(smooth(1500, 2000), form))
    assert found.notes == ("Made smaller, from 2,000 x 1,500 to 640 x 480 pixels.",)
    expected = np.asarray(smooth(480, 640)).astype(int)
    assert np.abs(found.picture.pixels.astype(int) - expected).mean() < 3


@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (1, 4000), (4000, 1), (2, 4000), (1300, 1), (MAX_PICTURE_SIDE, 3)]
)
def test_flat_pictures_keep_at_least_one_pixel(width: int, height: int) -> None:
    found = decode_picture(saved(Image.new("RGB", (width, height), (5, 6, 7)), "PNG")).picture
    longest = max(width, height, MAX_PICTURE_SIDE)
    assert (
        found.width == max(1, round(width * MAX_PICTURE_SIDE / longest))
        or longest == MAX_PICTURE_SIDE
    )
    assert (
        found.height == max(1, round(height * MAX_PICTURE_SIDE / longest))
        or longest == MAX_PICTURE_SIDE
    )
    assert (found.pixels == (5, 6, 7)).all()
    found.check()


@pytest.mark.parametrize(
    ("size", "small", "form"),
    [((3, 2), (3, 2), "PNG"), ((640, 1), (50, 1), "JPEG"), ((100, 200), (25, 50), "JPEG")],
)
def test_small_file_keeps_the_picture_for_browsers(
    size: tuple[int, int], small: tuple[int, int], form: str
) -> None:
    content = encode_small(
        Picture.of("one", np.full((size[1], size[0], 3), 77, dtype=np.uint8)), 50
    )
    image = Image.open(io.BytesIO(content))
    assert (image.size, image.format) == (small, form)
    assert (np.abs(np.asarray(image).astype(int) - 77) < 3).all()


def refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        decode_picture(content)
    return str(caught.value)


NO_PICTURE = (
    "The file is not a JPEG, PNG, WebP, GIF, BMP or TIFF picture, or it is damaged. Save it as JPEG"
    " or PNG and choose that file."
)
DAMAGED = "The picture is damaged or incomplete. Save it again, or choose another one."


def test_file_without_picture_is_refused() -> None:
    assert refusal(b"") == "The file is empty. Choose a JPEG, PNG, WebP, GIF, BMP or TIFF picture."
    assert refusal(b"Dear reader, this text is called photo.png.") == NO_PICTURE
    assert refusal(saved(smooth(4, 4), "PPM")) == NO_PICTURE
    assert refusal(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n") == NO_PICTURE


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0heicmif1", "an HEIC photograph"),
        (b"\0\0\0\x18ftypavif\0\0\0\0", "an AVIF picture"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG drawing"),
        (b"%PDF-1.7\n", "a PDF document"),
        (saved(smooth(4, 4), "ICO"), "an icon"),
        (b"ID3\3\0\0", "an MP3 recording"),
        (b"PK\3\4\0\0", "a ZIP archive or an office document"),
        (b"\0\0\0\x0cJXL \r\n", "a JPEG XL picture"),
    ],
)
def test_file_of_another_kind_is_named(content: bytes, kind: str) -> None:
    assert refusal(content) == (
        f"The file is {kind}, but only JPEG, PNG, WebP, GIF, BMP or TIFF pictures can be read. Save"
        " it as JPEG or PNG and choose that file."
    )


@pytest.mark.parametrize("form", PICTURE_FORMATS)
def test_truncated_picture_is_refused(form: str) -> None:
    content = saved(Image.fromarray(picture(90, 90)), form)
    said = refusal(content[: len(content) // 2])
    assert said == DAMAGED or f"{form} picture, but it is damaged or".lower() in said.lower()


def test_more_than_twenty_megabytes_are_refused() -> None:
    content = png(1, 1, b"\0\1\2\3")
    assert decode_picture(content + bytes(20 * MEBIBYTE - len(content))).picture.width == 1
    assert (
        refusal(content + bytes(21 * MEBIBYTE))
        == "The file has 21.0 MB, but the limit is 20 MB. Make the picture smaller and choose"
        " it again."
    )


def test_pixel_limit_is_exact() -> None:
    rows = (b"\0" + bytes(512)) * 4096
    assert (
        decode_picture(png(4096, 4096, rows, depth=1, colour=0)).picture.width == MAX_PICTURE_SIDE
    )
    assert "has 17 megapixels, but the limit is 16" in refusal(png(4097, 4096, depth=1, colour=0))


def test_fifty_megapixels_are_refused_without_decoding() -> None:
    bomb = png(10_000, 5_000, (b"\0" + bytes(10_000)) * 5_000, colour=0)
    tracemalloc.start()
    sentence = refusal(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        sentence == "The picture has 50 megapixels, but the limit is 16 megapixels. Make it smaller"
        " and choose it again."
    )
    assert len(bomb) < 1e5 and peak < 2e6


def jpeg(width: int, height: int, **options: Any) -> bytes:
    """Return a grey JPEG with one dark corner."""
    image, file = Image.new("L", (width, height), 200), io.BytesIO()
    image.paste(20, (0, 0, width // 2, height // 2))
    image.save(file, "JPEG", quality=50, **options)
    return file.getvalue()


def test_large_baseline_jpeg_is_decoded_at_smaller_scale() -> None:
    found = decode_picture(jpeg(8000, 6250))
    assert (found.picture.width, found.picture.height) == (640, 500)
    assert found.notes == ("Made smaller, from 8,000 x 6,250 to 640 x 500 pixels.",)
    pixels = found.picture.pixels
    assert pixels[10, 10, 0] < 60 and pixels[490, 630, 0] > 180


def test_large_progressive_jpeg_is_refused() -> None:
    assert "has 20 megapixels, but the limit is 16" in refusal(jpeg(5000, 4000, progressive=True))


def test_baseline_jpeg_beyond_64_megapixels_is_refused() -> None:
    assert "has 72 megapixels, but the limit is 64" in refusal(jpeg(9000, 8000))


BOMBS = """
import io, resource, struct, sys
from tests.data.test_pictures import bombs
from areaviz.media.pictures import decode_picture
from areaviz.trace.errors import InputError
made = bombs()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for bomb in made:
    try:
        decode_picture(bomb)
    except InputError:
        continue
    sys.exit("accepted")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def bombs() -> list[bytes]:
    """Return small files whose headers promise pictures of 50 megapixels or more."""
    gif = saved(Image.new("L", (8, 8)), "GIF")
    bmp = saved(Image.new("L", (8, 8)), "BMP")
    jpeg = saved(Image.new("L", (8, 8)), "JPEG")
    webp = saved(
        Image.new("RGBA", (8, 8), (1, 2, 3, 4)),
        "WEBP",
        save_all=True,
        append_images=[Image.new("RGBA", (8, 8))],
    )
    frame, canvas = jpeg.index(b"\xff\xc0") + 5, webp.index(b"VP8X") + 12
    return [
        *(png(width, height) for width, height in ((10_000, 5_000), (2**31 - 1, 2**31 - 1))),
        gif[:6] + b"\xff\xff\xff\xff" + gif[10:],
        bmp[:18] + struct.pack("<ii", 60_000, 60_000) + bmp[26:],
        jpeg[:frame] + b"\xff\xdc\xff\xdc" + jpeg[frame + 4 :],
        webp[:canvas] + b"\xfe\xff\0\xfe\xff\0" + webp[canvas + 6 :],
        tiled(16, 8192),
    ]


def tiled(side: int, tile: int) -> bytes:
    """Return a grey TIFF of side x side pixels in one deflated tile of tile x tile."""
    data = zlib.compress(bytes(tile * tile))
    shorts = {256: side, 257: side, 258: 8, 259: 8, 262: 1, 277: 1}
    longs = {322: tile, 323: tile, 324: 14 + 12 * 10, 325: len(data)}
    entries = [struct.pack("<HHIHH", tag, 3, 1, value, 0) for tag, value in shorts.items()]
    entries += [struct.pack("<HHII", tag, 4, 1, value) for tag, value in longs.items()]
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + b"".join(entries) + bytes(4) + data


def test_tile_may_slightly_exceed_its_picture() -> None:
    assert (decode_picture(tiled(16, 64)).picture.pixels == 0).all() and "megapixels" in refusal(
        tiled(16, 8192)
    )


def test_decompression_bombs_take_no_memory() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BOMBS], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 20_000, "kilobytes"


@pytest.mark.parametrize("side", [10_000, 14_000])
@pytest.mark.parametrize("filtered", ["error", "ignore"])
def test_decompression_bomb_warnings_become_refusals(side: int, filtered: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(filtered, Image.DecompressionBombWarning)
        assert refusal(png(side, side)).endswith("megapixels. Make it smaller and choose it again.")


TOO_MANY = "This JPEG has too many scans. Save it as PNG or as a baseline JPEG."


def test_jpeg_of_a_thousand_scans_is_refused() -> None:
    content = saved(smooth(64, 64), "JPEG", progressive=True)
    assert decode_picture(content).picture.width == 64
    last = content[content.rindex(b"\xff\xda") : -2]
    assert decode_picture(content[:-2] + 80 * last + content[-2:]).picture.width == 64
    assert refusal(content[:-2] + 1000 * last + content[-2:]) == TOO_MANY
    assert refusal(content[:2] + 20_000 * b"\xff\xfe\0\2" + content[2:]) == TOO_MANY


def test_data_outside_the_jpeg_image_is_ignored() -> None:
    """Phones append a film, which may contain any bytes, and store a preview before the image."""
    content = saved(smooth(64, 64), "JPEG")
    preview = b"\xff\xe5" + struct.pack(">H", 2002) + 1000 * b"\xff\xda"
    assert (
        decode_picture(content[:2] + preview + content[2:] + 1000 * b"\xff\xda\0\2").picture.width
        == 64
    )


def test_sixteen_megapixels_stay_within_memory() -> None:
    """The largest photograph is decoded at a reduced scale, far below its 48 MB of pixels."""
    code = (
        "import sys, resource; from areaviz.media.pictures import decode_picture; content ="
        " sys.stdin.buffer.read();before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        " decode_picture(content);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    content = saved(Image.new("RGB", (4096, 4096), (9, 99, 199)), "JPEG")
    run = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, check=True
    )
    assert int(run.stdout) < 40_000, "kilobytes"


VALID = [saved(Image.fromarray(picture(16, 16)), form) for form in PICTURE_FORMATS]
VALID += [
    saved(smooth(16, 16), "JPEG", progressive=True),
    saved(smooth(16, 16).convert("P"), "PNG"),
]
VALID += [
    saved(smooth(9, 9), form, save_all=True, append_images=[smooth(9, 9)])
    for form in ("GIF", "PNG", "WEBP", "TIFF")
]


def survives(content: bytes) -> None:
    """Check that bytes give a picture within the limits or a one-sentence InputError."""
    try:
        decode_picture(content).picture.check()
    except InputError as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@pytest.mark.filterwarnings("ignore")
@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused(content: bytes) -> None:
    survives(content)


@pytest.mark.filterwarnings("ignore")
@given(st.sampled_from([v[:12] for v in VALID]), st.binary(max_size=200))
def test_bytes_after_a_header_are_decoded_or_refused(head: bytes, tail: bytes) -> None:
    survives(head + tail)


@pytest.mark.filterwarnings("ignore")
@given(
    st.sampled_from(VALID),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8),
    st.floats(0, 1),
)
def test_damaged_pictures_are_decoded_or_refused(
    content: bytes, hits: list[tuple[float, int]], kept: float
) -> None:
    damaged = bytearray(content)
    for place, value in hits:
        damaged[int(place * len(damaged))] = value
    survives(bytes(damaged[: 1 + int(kept * len(damaged))]))


def test_memory_is_counted_in_kilobytes() -> None:
    """The bounds above assume Linux's unit."""
    assert 10_000 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 100_000_000

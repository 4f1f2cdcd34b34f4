"""The film strip as a moving picture: one frame a word, the sentence below with the word of the
moment marked.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from areaviz.drawing.film_frames import film
from areaviz.drawing.labels import drawable
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

MILLISECONDS = 700
NARROWEST, LONGEST, LEAST = 256, 480, 32
"""Pixels: the moving picture is at least so wide; the sides of what it shows are at most and at
least so long.
"""
_FONT_PX, _LINE_PX, _MARGIN_PX, _SAMPLE_PX = 16, 24, 10, 64
_PAPER, _INK, _QUIET = "#FFFFFF", "#111111", "#707070"

Placed = tuple[float, int, str]
"""Left edge in pixels, line (0-based) and text of a word."""


def film_gif(trace: Trace, focus: Focus) -> bytes:
    """The film of a focus as an animated GIF, 0.7 seconds a frame, played without end."""
    drawn = film(trace, focus)
    height, width = drawn.picture.shape[:2]
    wide, high = drawn_size(width, height)
    broad = max(wide, NARROWEST)
    regular, bold = (_font(name) for name in ("DejaVuSans", "DejaVuSans-Bold"))
    words = [drawable(frame.label) for frame in drawn.frames]
    placed = wrapped(words, bold, broad - 2 * _MARGIN_PX)
    foot = 2 * _MARGIN_PX + _LINE_PX * (placed[-1][1] + 1)
    stills, images = drawn.stills(max(wide, high)), []
    for current, frame in enumerate(drawn.frames):
        still = Image.fromarray(stills.of(frame))
        image = Image.new("RGB", (broad, high + foot), _PAPER)
        image.paste(still.resize((wide, high), Image.Resampling.NEAREST), ((broad - wide) // 2, 0))
        _write(ImageDraw.Draw(image), placed, current, high + _MARGIN_PX, (regular, bold))
        images.append(image)
    colours = _palette(images)
    images = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image in images]
    buffer = io.BytesIO()
    images[0].save(
        buffer,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=MILLISECONDS,
        loop=0,
        disposal=1,
    )
    return buffer.getvalue()


def drawn_size(width: int, height: int) -> tuple[int, int]:
    """Width and height of a picture as it is drawn: in its shape, as far as sides from LEAST to
    LONGEST allow.
    """
    scale = min(float(np.clip(width, NARROWEST, LONGEST)) / width, LONGEST / height)
    wide, high = (int(np.clip(round(side * scale), LEAST, LONGEST)) for side in (width, height))
    return wide, high


def _palette(images: Sequence[Image.Image]) -> Image.Image:
    """The colours of all frames, found on small copies, as looking in all of every frame takes
    long.
    """
    small = [image.resize((_SAMPLE_PX, _SAMPLE_PX), Image.Resampling.NEAREST) for image in images]
    sheet = Image.new("RGB", (_SAMPLE_PX, _SAMPLE_PX * len(small)))
    for number, image in enumerate(small):
        sheet.paste(image, (0, number * _SAMPLE_PX))
    return sheet.quantize(256, dither=Image.Dither.NONE)


def wrapped(words: Sequence[str], font: ImageFont.FreeTypeFont, room: float) -> list[Placed]:
    """Where the words of a sentence stand in lines of `room` pixels; a word wider than that begins
    a line.
    """
    blank, x, line = font.getlength(" "), 0.0, 0
    placed: list[Placed] = []
    for word in words:
        length = font.getlength(word)
        if x and x + length > room:
            x, line = 0.0, line + 1
        placed.append((x, line, word))
        x += length + blank
    return placed


def _write(
    pen: ImageDraw.ImageDraw,
    placed: Sequence[Placed],
    current: int,
    top: int,
    fonts: Sequence[ImageFont.FreeTypeFont],
) -> None:
    """The sentence, with the word of the moment bold and underlined."""
    for number, (x, line, word) in enumerate(placed):
        left, upper, marked = x + _MARGIN_PX, top + line * _LINE_PX, number == current
        pen.text((left, upper), word, font=fonts[marked], fill=_INK if marked else _QUIET)
        if marked:
            right, under = left + fonts[1].getlength(word), upper + _FONT_PX + 4
            pen.line((left, under, right, under), fill=_INK, width=2)


def _font(name: str) -> ImageFont.FreeTypeFont:
    """A font that comes with matplotlib, so it is there on every machine."""
    return ImageFont.truetype(
        Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf", _FONT_PX
    )

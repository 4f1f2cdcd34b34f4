"""Film strip and playback, which have a picture for each word, bright where the model attends.

On a page, the film strip shows all frames at once, and playback shows one large frame at a time
above the sentence. In a file, the film is an animated GIF.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from areaviz.draw import tiles
from areaviz.draw.labels import replace_undrawable, show_invisibles, truncate
from areaviz.draw.marks import Plot
from areaviz.draw.pictures import Pixels, draw_boxes, repeat_to_minimum_size, to_data_uri
from areaviz.draw.theme import SECOND
from areaviz.draw.tiles import Sheet, Tile
from areaviz.draw.view import Animation, Table, view_of_marks
from areaviz.drawing.film import Film, Frame, Stills, find_film, fits_film
from areaviz.trace.areas import format_area
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

PLAYED_LONGEST, PLAYED_LEAST = 420, 32
"""Maximum and minimum side of a played frame, in px."""
_MILLISECONDS = 700

# Minimum width of the GIF, and maximum and minimum side of its picture, in px.
_NARROWEST, _LONGEST, _LEAST = 256, 480, 32
_FONT_PX, _LINE_PX, _MARGIN_PX, _SAMPLE_PX = 16, 24, 10, 64
_PAPER, _INK, _QUIET = "#FFFFFF", "#111111", "#707070"

Placed = tuple[float, int, str]
"""Left edge in px, line (0-based) and text of a word."""


def arrange_sheet(drawn: Film, longest: int) -> Sheet:
    """Arrange the plain picture and all frames, with sides of at most `longest` px."""
    # Many frames get smaller pictures to keep the figure small.
    stills = drawn.stills(longest if len(drawn.frames) <= 16 else longest * 2 // 3)
    found = [Tile(stills.plain, ("the picture", ""), ("the picture as it is",))]
    for frame in drawn.frames:
        share = f"{frame.heaviest.weight:.0%}" if frame.heaviest else ""
        found.append(
            Tile(
                _render_still(stills, frame),
                (truncate(frame.label, 14), share),
                _make_hover(drawn, frame),
            )
        )
    height, width = drawn.picture.shape[:2]
    return Sheet(
        drawn.title,
        f"{drawn.note}; percentage: weight of the word's top area",
        drawn.caption,
        tiles=found,
        across=min(5, len(found)),
        height=float(np.clip(128 * height / width, 60, 180)),
    )


def _render_still(stills: Stills, frame: Frame) -> Pixels:
    """Return the picture of a frame, with an outline if its word is focused."""
    still = stills.of(frame)
    if not frame.marked:
        return still
    (height, width), edge = still.shape[:2], 1.5 * stills.line
    around = edge, edge, width - edge, height - edge
    return draw_boxes(still, [(around, SECOND)], 2 * stills.line)


def _make_hover(drawn: Film, frame: Frame) -> tuple[str, ...]:
    most = f"{describe_brightest_cell(drawn, frame)} of the attention"
    return describe_frame(frame), most, f"heaviest area: {_describe_area(frame)}"


def describe_frame(frame: Frame) -> str:
    """Return a word's label and position and, if the model produced it, its probability."""
    text = f"{frame.label} (item {frame.first + 1})"
    likely = frame.probability
    return text if likely is None else f"{text}, probability {likely:.1%}"


def describe_brightest_cell(drawn: Film, frame: Frame) -> str:
    """Return the cell that gets the most attention, with its share, as text."""
    cell = show_invisibles(drawn.cells.labels[int(frame.shares.argmax())])
    return f"most on {cell}: {frame.shares.max():.1%}"


def _describe_area(frame: Frame) -> str:
    """Return the top area with its weight as text, or "none"."""
    top = frame.heaviest
    return f"{format_area(top.area)} ({top.weight:.1%})" if top else "none"


def plot(drawn: Film) -> Plot:
    """Draw the plain picture, then one frame per word."""
    return tiles.plot_tiles_on_screen(arrange_sheet(drawn, 250))


def print_plot(drawn: Film) -> Plot:
    """Draw the pictures of `plot` with more pixels, for print."""
    return tiles.plot_tiles_in_print(arrange_sheet(drawn, 400))


def tabulate(drawn: Film) -> Table:
    """Return a table with a row per frame: word, probability, top area, and share of every cell."""
    cells = drawn.cells.labels
    rows = []
    for frame in drawn.frames:
        likely = "" if frame.probability is None else frame.probability
        shares = frame.shares.ravel().tolist()
        rows.append((frame.first + 1, frame.label, likely, _describe_area(frame), *shares))
    return Table(("position", "item", "probability", "heaviest area", *cells), rows)


def render_animation(trace: Trace, focus: Focus) -> Animation:
    """Render larger frames, which the browser plays without asking the server."""
    drawn = find_film(trace, focus)
    stills = drawn.stills(PLAYED_LONGEST)
    return Animation(
        drawn.title,
        drawn.note,
        drawn.caption,
        words=tuple(frame.label for frame in drawn.frames),
        pictures=tuple(
            to_data_uri(repeat_to_minimum_size(_render_still(stills, frame), PLAYED_LEAST))
            for frame in drawn.frames
        ),
        milliseconds=_MILLISECONDS,
    )


def render_gif(trace: Trace, focus: Focus) -> bytes:
    """Render the film as an endless animated GIF with 0.7 seconds per frame."""
    drawn = find_film(trace, focus)
    height, width = drawn.picture.shape[:2]
    wide, high = compute_drawn_size(width, height)
    broad = max(wide, _NARROWEST)
    regular, bold = _load_font("DejaVuSans"), _load_font("DejaVuSans-Bold")
    words = [replace_undrawable(frame.label) for frame in drawn.frames]
    placed = break_into_lines(words, bold, broad - 2 * _MARGIN_PX)
    foot = 2 * _MARGIN_PX + _LINE_PX * (placed[-1][1] + 1)
    stills, images = drawn.stills(max(wide, high)), []
    for current, frame in enumerate(drawn.frames):
        still = Image.fromarray(_render_still(stills, frame)).resize(
            (wide, high), Image.Resampling.NEAREST
        )
        image = Image.new("RGB", (broad, high + foot), _PAPER)
        image.paste(still, ((broad - wide) // 2, 0))
        _write(
            ImageDraw.Draw(image),
            placed,
            current,
            high + _MARGIN_PX,
            regular,
            bold,
        )
        images.append(image)
    colours = _find_palette(images)
    first, *others = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image in images]
    buffer = io.BytesIO()
    first.save(
        buffer,
        "GIF",
        save_all=True,
        append_images=others,
        duration=_MILLISECONDS,
        loop=0,
        disposal=1,
    )
    return buffer.getvalue()


def compute_drawn_size(width: int, height: int) -> tuple[int, int]:
    """Return the width and height of a picture in the GIF.

    The proportions are kept, unless the limits on the sides prevent it.
    """
    scale = min(float(np.clip(width, _NARROWEST, _LONGEST)) / width, _LONGEST / height)
    wide, high = (np.clip(round(side * scale), _LEAST, _LONGEST) for side in (width, height))
    return int(wide), int(high)


def _find_palette(images: Sequence[Image.Image]) -> Image.Image:
    """Return a palette for all frames. It is found on small copies, because this is faster."""
    sheet = Image.new("RGB", (_SAMPLE_PX, _SAMPLE_PX * len(images)))
    for number, image in enumerate(images):
        small = image.resize((_SAMPLE_PX, _SAMPLE_PX), Image.Resampling.NEAREST)
        sheet.paste(small, (0, number * _SAMPLE_PX))
    return sheet.quantize(256, dither=Image.Dither.NONE)


def break_into_lines(
    words: Sequence[str],
    font: ImageFont.FreeTypeFont,
    room: float,
) -> list[Placed]:
    """Break a sentence into lines of `room` px.

    A word that is wider than a line gets a line of its own.
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
    regular: ImageFont.FreeTypeFont,
    bold: ImageFont.FreeTypeFont,
) -> None:
    """Write the sentence, with the current word bold and underlined."""
    for number, (x, line, word) in enumerate(placed):
        left, upper = x + _MARGIN_PX, top + line * _LINE_PX
        if number != current:
            pen.text((left, upper), word, font=regular, fill=_QUIET)
            continue
        pen.text((left, upper), word, font=bold, fill=_INK)
        right, under = left + bold.getlength(word), upper + _FONT_PX + 4
        pen.line((left, under, right, under), fill=_INK, width=2)


def _load_font(name: str) -> ImageFont.FreeTypeFont:
    """Load a font that is bundled with matplotlib and therefore always available."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(folder / f"{name}.ttf", _FONT_PX)


VIEW = replace(
    view_of_marks(
        "film",
        "Film strip",
        "Which part of the picture does the model attend to for each word or label?",
        fits_film,
        find_film,
        plot,
        tabulate,
        print_plot=print_plot,
        how_to_read=(
            "One picture per word, in output order. Bright regions received most of that"
            " word's attention. “Relative to average” under “More” hides what all words"
            " attend to."
        ),
    ),
    movie=render_gif,
)
PLAYBACK = replace(
    VIEW,
    name="playback",
    title="Playback",
    question="Where does the model look for each output word?",
    played=render_animation,
)

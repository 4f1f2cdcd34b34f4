"""The pictures of Home's cards, drawn from the traces that the examples open with."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageChops

from areaviz.drawing.base import Takeaway
from areaviz.drawing.export import figure_bytes
from areaviz.interactive.grid import TAKEAWAY as GRID
from areaviz.interactive.ribbon import TAKEAWAY as RIBBON
from areaviz.trace.files import write_whole
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.forms.ways_form import WAYS
from areaviz.ui.home.openings import Opening
from areaviz.views import listening, points, watching
from areaviz.views.look import look_picture, steps

PRINTS: dict[str, Takeaway] = {
    "picture": GRID,
    "points": points.VIEW,
    "sound": listening.VIEW,
    "clip": watching.VIEW,
}
"""What is drawn of a memory of a kind; of all others the ribbon."""
WIDE = {"sound": 560, "clip": 800}
"""Kinds whose time runs to the right, with the width of their cards; sounds have fine grain."""
WIDTH, PICTURE_SIDE, DIGIT_SIDE = 800, 320, 150
"""Of a card's picture at most, in pixels: of texts, of a picture's cells, of digits."""


def draw_cards(openings: Iterable[Opening], folder: Path) -> list[Path]:
    """Draw a picture for every example, and one for each of the four ways to look."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.png"):
        path.unlink()
    made = []
    for opening in openings:
        if opening.example is not None:
            path = folder / f"{opening.example.slug}.png"
            _write(_attended(opening.traces[0], opening.focus), path)
            made.append(path)
        elif opening.page == "four_ways":
            for way, trace in zip(WAYS, opening.traces, strict=True):
                path = folder / f"{way.mechanism.replace(' ', '-')}.png"
                _write(_look(trace), path)
                made.append(path)
    return made


def _write(image: Image.Image, path: Path) -> None:
    """Write a picture as PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    write_whole(path, buffer.getvalue())


def _attended(trace: Trace, focus: Focus) -> Image.Image:
    """The print of what is pointed at, small, with few colours.

    Of a text its items with the heads' key; of a picture and of points nothing but these: a key
    would be too small to read.
    """
    kind = trace.fields[trace.maps[focus.site].memory].kind
    figure = PRINTS.get(kind, RIBBON).print(trace, focus)
    image = Image.open(io.BytesIO(figure_bytes(figure, "png"))).convert("RGB")
    # Axes are placed when the figure is drawn; matplotlib counts from below.
    axes = figure.axes[0]
    is_picture = kind == "picture"
    box = axes.images[0].get_window_extent() if is_picture else axes.get_window_extent()
    scale = image.height / figure.bbox.height
    edges = (box.x0, figure.bbox.height - box.y1, box.x1, figure.bbox.height - box.y0)
    cut = image.crop(tuple(round(edge * scale) for edge in edges))
    side = WIDE.get(kind, PICTURE_SIDE)
    if kind not in PRINTS:
        side = WIDTH
        white = Image.new("RGB", cut.size, "white")
        cut = cut.crop(ImageChops.difference(cut, white).getbbox())
    cut.thumbnail((side, side), Image.Resampling.LANCZOS)
    return cut.quantize(128)


def _look(trace: Trace) -> Image.Image:
    """What was read at the last look, on a card's width of the same black."""
    look = Image.fromarray(look_picture(trace, steps(trace) - 1))
    look.thumbnail((DIGIT_SIDE, DIGIT_SIDE), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (2 * DIGIT_SIDE, DIGIT_SIDE), "black")
    card.paste(look, ((2 * DIGIT_SIDE - look.width) // 2, 0))
    return card.quantize(128)

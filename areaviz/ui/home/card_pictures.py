"""The pictures of Home's cards, drawn from the stored traces of the examples."""

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
"""The figures to draw, by the kind of memory; all other kinds use the ribbon."""
WIDE = {"sound": 560, "clip": 800}
"""Kinds with a horizontal time axis, with the widths of their cards; sounds need more pixels."""
WIDTH, PICTURE_SIDE, DIGIT_SIDE = 800, 320, 150
"""Largest sizes on a card in pixels: text width, side of a cell map, side of a digit picture."""


def draw_cards(openings: Iterable[Opening], folder: Path) -> list[Path]:
    """Draw a picture for every example, and one for each of the four mechanisms."""
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
    """Return the figure of an example's map, small and with few colours.

    A text keeps the key of the heads. A picture or points are drawn alone, because a key would be
    too small to read.
    """
    kind = trace.fields[trace.maps[focus.site].memory].kind
    figure = PRINTS.get(kind, RIBBON).print(trace, focus)
    image = Image.open(io.BytesIO(figure_bytes(figure, "png"))).convert("RGB")
    # Axes get their positions when the figure is drawn; matplotlib counts from the bottom.
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
    """Return the last glimpse, centred on black in the width of a card."""
    look = Image.fromarray(look_picture(trace, steps(trace) - 1))
    look.thumbnail((DIGIT_SIDE, DIGIT_SIDE), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (2 * DIGIT_SIDE, DIGIT_SIDE), "black")
    card.paste(look, ((2 * DIGIT_SIDE - look.width) // 2, 0))
    return card.quantize(128)

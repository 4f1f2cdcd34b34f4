"""A picture with lines on it, in pixels of the picture."""

from __future__ import annotations

from areaviz.drawing.marks import Axis, Dash, Frame, Image, Mark, Pair, Path, Stroke
from areaviz.drawing.pictures import CASING, Box, Pixels
from areaviz.drawing.theme import EDGE
from areaviz.trace.areas import FloatArray

_CASING = (2.0, 1.2)
"""Additional width of a line's dark edge, in px and in pt."""
_SMALL = 200
"""A picture with shorter sides, in pixels, is printed with sharp pixels."""


def make_picture_marks(pixels: Pixels) -> list[Mark]:
    """Return a picture and the line around it."""
    height, width = pixels.shape[:2]
    is_smooth = max(height, width) >= _SMALL
    return [
        Image(pixels, (0, 0, width, height), longest=480, is_smooth=is_smooth),
        Frame(
            0,
            0,
            width,
            height,
            Stroke(EDGE, (1, 0.5)),
        ),
    ]


def make_stage_axes(box: Box) -> tuple[Axis, Axis]:
    """Return invisible axes, across and down, that show `box` (pixels of the picture)."""
    left, top, right, bottom = box
    return Axis(ends=(left, right), is_seen=False), Axis(ends=(bottom, top), is_seen=False)


def draw_cased_line(
    points_P2: FloatArray, colour: str, width: Pair, opacity: float = 1, dash: Dash = "solid"
) -> Path:
    """Return a line through points (x, y) [P, 2]. Its dark edge makes it visible on any picture."""
    x, y = points_P2.T
    faint = opacity if dash == "solid" else 0.3 * opacity
    edge = width[0] + _CASING[0], width[1] + _CASING[1]
    line = Stroke(colour, width, dash, opacity)
    return Path(x, y, line, casing=Stroke(CASING, edge, opacity=faint))

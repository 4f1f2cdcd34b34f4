"""Drawing of shapes on backgrounds.

A scene is drawn at twice its size and then scaled down. This module needs Pillow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageColor, ImageDraw, ImageFilter

from areaviz.data.grounding import Box
from areaviz.data.scene_grammar import Object

_OVERSAMPLING = 2
INKS: Mapping[str, tuple[int, int, int]] = {
    "red": (206, 52, 48),
    "green": (46, 150, 84),
    "blue": (48, 98, 196),
    "yellow": (242, 204, 58),
    "orange": (238, 134, 42),
    "purple": (134, 78, 168),
    "white": (246, 246, 242),
    "black": (38, 38, 42),
}
_GROUNDS = ("#d6cdbc", "#bccabe", "#bec8d4", "#d0c2c8", "#cacaca", "#b0bab2")

Pen = ImageDraw.ImageDraw
Points = list[tuple[float, float]]
Shape = Callable[[Pen, Box], object]
"""A function that draws a shape into a box of a mask."""


def draw_scene(
    objects: tuple[Object, ...], side: int, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Draw the objects on a background, each with a soft shadow: uint8 [side, side, 3]."""
    large = side * _OVERSAMPLING
    picture = _make_background(large, rng)
    for thing in objects:
        mask = _make_shape_mask(thing, large)
        blurred = mask.filter(ImageFilter.GaussianBlur(large / 90))
        shadow = blurred.point(lambda value: value * 2 // 5)
        moved = Image.new("L", mask.size)
        moved.paste(shadow, (large // 90, large // 70))
        picture.paste((30, 30, 40), mask=moved)
        picture.paste(_draw_ink_colour(thing.colour, rng), mask=mask)
    return np.asarray(picture.resize((side, side), Image.Resampling.BOX))


def _draw_ink_colour(colour: str, rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = np.clip(np.array(INKS[colour]) + rng.integers(-12, 13, 3), 0, 255).tolist()
    return red, green, blue


def _make_background(side: int, rng: np.random.Generator) -> Image.Image:
    """Return a background of a muted colour.

    It has smooth noise at three scales, and sometimes faint stripes.
    """
    light = np.zeros((side, side))
    for cells, strength in ((3, 14), (12, 8), (side // 4, 7)):
        noise = Image.fromarray(rng.normal(0, 1, (cells, cells)).astype(np.float32))
        light += strength * np.asarray(noise.resize((side, side), Image.Resampling.BICUBIC))
    if rng.random() < 0.4:
        angle, period = rng.uniform(0, math.pi), rng.uniform(side / 24, side / 8)
        y, x = np.mgrid[:side, :side]
        across = x * math.cos(angle) + y * math.sin(angle)
        light += 6 * np.sign(np.sin(across * 2 * math.pi / period))
    quiet = ImageColor.getrgb(_GROUNDS[rng.integers(len(_GROUNDS))])
    colour = np.array(quiet) + rng.integers(-10, 11, 3)
    return Image.fromarray(np.clip(colour + light[..., None], 0, 255).astype(np.uint8))


def _make_shape_mask(thing: Object, side: int) -> Image.Image:
    """Return a mask of the whole picture that shows the shape."""
    mask = Image.new("L", (side, side))
    left, top, right, bottom = (value * side for value in thing.box)
    _SHAPES[thing.shape](ImageDraw.Draw(mask), (left, top, right, bottom))
    return mask


def _parse_points(text: str) -> Points:
    """Parse points "x y, x y" of the unit square."""
    points = []
    for point in text.split(", "):
        x, y = point.split()
        points.append((float(x), float(y)))
    return points


def _map_into_box(points: Points, box: Box) -> Points:
    """Map points of the unit square into a box."""
    left, top, right, bottom = box
    return [(left + x * (right - left), top + y * (bottom - top)) for x, y in points]


def _get_part_of_box(corners: str, box: Box) -> Box:
    """Return a part of a box.

    `corners` is "left top, right bottom", as shares of the box's width and height.
    """
    (left, top), (right, bottom) = _map_into_box(_parse_points(corners), box)
    return left, top, right, bottom


def _make_polygon_shape(points: Points) -> Shape:
    return lambda pen, box: pen.polygon(_map_into_box(points, box), fill=255)


def _draw_line(pen: Pen, box: Box, points: str, width: int, fill: int = 0) -> None:
    pen.line(_map_into_box(_parse_points(points), box), fill=fill, width=width)


def _compute_line_width(box: Box) -> float:
    return box[2] - box[0]


def _draw_circle(pen: Pen, box: Box) -> None:
    pen.ellipse(box, fill=255)


def _draw_ring(pen: Pen, box: Box) -> None:
    pen.ellipse(box, fill=255)
    pen.ellipse(_get_part_of_box("0.27 0.27, 0.73 0.73", box), fill=0)


def _draw_moon(pen: Pen, box: Box) -> None:
    pen.ellipse(_get_part_of_box("0 0, 1 1", box), fill=255)
    pen.ellipse(_get_part_of_box("0.32 -0.08, 1.18 0.82", box), fill=0)


def _make_heart_points() -> Points:
    points = []
    for i in range(60):
        a = 2 * math.pi * i / 60
        x = math.sin(a) ** 3
        lobes = 13 / 16 * math.cos(a) - 5 / 16 * math.cos(2 * a)
        y = lobes - math.cos(3 * a) / 8 - math.cos(4 * a) / 16
        points.append((0.5 + x / 2, 0.43 - y * 0.53))
    return points


def _make_star_points() -> Points:
    points = []
    for corner in range(10):
        radius, angle = (0.53, 0.22)[corner % 2], math.pi * (corner / 5 - 0.5)
        points.append((0.5 + radius * math.cos(angle), 0.53 + radius * math.sin(angle)))
    return points


def _draw_gem(pen: Pen, box: Box) -> None:
    outline = _parse_points("0.22 0.1, 0.78 0.1, 1 0.38, 0.5 0.96, 0 0.38")
    pen.polygon(_map_into_box(outline, box), fill=255)
    width = max(2, round(_compute_line_width(box) / 16))
    for edge in ("0.02 0.38, 0.98 0.38", "0.34 0.38, 0.5 0.92", "0.66 0.38, 0.5 0.92"):
        _draw_line(pen, box, edge, width)


def _draw_envelope(pen: Pen, box: Box) -> None:
    pen.rectangle(_get_part_of_box("0 0.16, 1 0.84", box), fill=255)
    width = max(2, round(_compute_line_width(box) / 13))
    _draw_line(pen, box, "0.02 0.18, 0.5 0.58, 0.98 0.18", width)


def _draw_glyph(pen: Pen, box: Box) -> None:
    width = round(_compute_line_width(box) / 5.5)
    legs = _map_into_box(_parse_points("0.12 0.98, 0.5 0.06, 0.88 0.98"), box)
    pen.line(legs, fill=255, width=width, joint="curve")
    _draw_line(pen, box, "0.26 0.66, 0.74 0.66", width, fill=255)


def _lock_key(pen: Pen, box: Box) -> None:
    pen.ellipse(_get_part_of_box("0 0.26, 0.46 0.74", box), fill=255)
    pen.ellipse(_get_part_of_box("0.14 0.4, 0.32 0.6", box), fill=0)
    for bar in ("0.42 0.44, 1 0.57", "0.9 0.5, 1 0.78", "0.7 0.5, 0.8 0.72"):
        pen.rectangle(_get_part_of_box(bar, box), fill=255)


def _draw_piano_key(pen: Pen, box: Box) -> None:
    pen.rounded_rectangle(box, radius=_compute_line_width(box) * 0.18, fill=255)
    inner = _get_part_of_box("0.13 0.1, 0.87 0.8", box)
    pen.rounded_rectangle(inner, radius=_compute_line_width(box) * 0.12, outline=0, width=3)
    _draw_line(pen, box, "0.34 0.45, 0.66 0.45", 4)


_CROSS = (
    "0.33 0, 0.67 0, 0.67 0.33, 1 0.33, 1 0.67, 0.67 0.67, "
    "0.67 1, 0.33 1, 0.33 0.67, 0 0.67, 0 0.33, 0.33 0.33"
)
_SHAPES: Mapping[str, Shape] = {
    "circle": _draw_circle,
    "square": _make_polygon_shape(_parse_points("0.03 0.03, 0.97 0.03, 0.97 0.97, 0.03 0.97")),
    "triangle": _make_polygon_shape(_parse_points("0.5 0, 1 0.94, 0 0.94")),
    "star": _make_polygon_shape(_make_star_points()),
    "cross": _make_polygon_shape(_parse_points(_CROSS)),
    "ring": _draw_ring,
    "heart": _make_polygon_shape(_make_heart_points()),
    "moon": _draw_moon,
    "rhombus": _make_polygon_shape(_parse_points("0.5 0, 0.9 0.5, 0.5 1, 0.1 0.5")),
    "gem": _draw_gem,
    "envelope": _draw_envelope,
    "glyph": _draw_glyph,
    "lock key": _lock_key,
    "piano key": _draw_piano_key,
}

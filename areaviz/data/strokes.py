"""Digits drawn by this code, free of rights: pen strokes through jittered points, as if by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

SIDE = 28
_OVERSAMPLING = 4
_STEPS = 12

Point = tuple[float, float]
Points = npt.NDArray[np.float64]


def _arc(
    x: float, y: float, rx: float, ry: float, start: float, stop: float, points: int = 9
) -> list[Point]:
    """Points on an ellipse, angles in turns, clockwise from the right."""
    angles = [2 * math.pi * (start + (stop - start) * i / (points - 1)) for i in range(points)]
    return [(x + rx * math.cos(angle), y + ry * math.sin(angle)) for angle in angles]


_STROKES: Mapping[int, tuple[tuple[list[Point], ...], ...]] = {
    0: ((_arc(0.5, 0.5, 0.27, 0.4, -0.25, 0.77, 15),),),
    1: (
        ([(0.52, 0.1), (0.51, 0.5), (0.5, 0.9)],),
        ([(0.36, 0.28), (0.46, 0.19), (0.54, 0.1)], [(0.54, 0.1), (0.53, 0.5), (0.52, 0.9)]),
    ),
    2: (
        (
            [*_arc(0.48, 0.31, 0.23, 0.21, 0.52, 1.08, 8), (0.52, 0.6), (0.25, 0.88)],
            [(0.25, 0.88), (0.78, 0.86)],
        ),
    ),
    3: ((_arc(0.46, 0.3, 0.22, 0.2, 0.55, 1.22, 8), _arc(0.46, 0.69, 0.25, 0.21, -0.24, 0.42, 9)),),
    4: (
        ([(0.32, 0.1), (0.25, 0.52), (0.76, 0.5)], [(0.66, 0.14), (0.64, 0.5), (0.62, 0.9)]),
        ([(0.58, 0.1), (0.2, 0.6), (0.8, 0.6)], [(0.6, 0.1), (0.6, 0.5), (0.59, 0.9)]),
    ),
    5: (
        (
            [(0.72, 0.12), (0.34, 0.13)],
            [(0.34, 0.13), (0.3, 0.45)],
            [(0.3, 0.45), *_arc(0.46, 0.65, 0.25, 0.23, -0.27, 0.4, 9)],
        ),
    ),
    6: (([(0.62, 0.1), (0.4, 0.3), (0.28, 0.6), *_arc(0.48, 0.68, 0.2, 0.2, 0.5, -0.5, 11)],),),
    7: (
        ([(0.24, 0.14), (0.76, 0.14)], [(0.76, 0.14), (0.56, 0.5), (0.44, 0.9)]),
        (
            [(0.24, 0.16), (0.76, 0.13)],
            [(0.76, 0.13), (0.56, 0.5), (0.44, 0.9)],
            [(0.38, 0.52), (0.54, 0.5), (0.7, 0.5)],
        ),
    ),
    8: (
        (_arc(0.5, 0.3, 0.19, 0.19, 0.25, -0.75, 11), _arc(0.5, 0.7, 0.23, 0.21, -0.25, 0.75, 11)),
    ),
    9: (
        (_arc(0.48, 0.31, 0.2, 0.2, 0.0, -1.0, 11), [(0.68, 0.31), (0.65, 0.6), (0.56, 0.9)]),
        (
            _arc(0.48, 0.31, 0.2, 0.2, 0.0, -1.0, 11),
            [(0.68, 0.31), (0.68, 0.65), *_arc(0.48, 0.7, 0.2, 0.19, 0, 0.4, 5)],
        ),
    ),
}
"""For each digit the ways to write it; a way is a tuple of strokes, a stroke is points in the unit
square.
"""


def draw_digit(digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """One digit as somebody might write it: uint8 [28, 28], 0 is ground, 255 is ink, centred by its
    mass.

    The digit's points are moved a little, then all of it is slanted, turned and scaled, and drawn
    with a round pen four times as large as it is returned.
    """
    ways = _STROKES[digit]
    strokes = ways[rng.integers(len(ways))]
    slant = _hand(rng)
    side = SIDE * _OVERSAMPLING
    image = Image.new("L", (side, side))
    pen = ImageDraw.Draw(image)
    radius = _OVERSAMPLING * rng.uniform(0.85, 1.7)
    for stroke in strokes:
        points = np.array(stroke) + rng.normal(0, 0.016, (len(stroke), 2))
        for x, y in (_smooth(points) - 0.5) @ slant.T * 20 * _OVERSAMPLING + side / 2:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX))
    return _centred(small)


def draw_digits(labels: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """One drawn digit for each label: uint8 [N, 28, 28]."""
    return np.stack([draw_digit(int(label), rng) for label in labels])


def _hand(rng: np.random.Generator) -> Points:
    """A slant, a turn and a scale in both directions: [2, 2]."""
    turn, shear = rng.normal(0, 0.1), rng.normal(-0.12, 0.16)
    width, height = rng.uniform(0.82, 1.12), rng.uniform(0.9, 1.05)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    hand: Points = rotation @ np.array([[width, shear * height], [0, height]])
    return hand


def _smooth(points: Points) -> Points:
    """A Catmull-Rom curve through the points, `_STEPS` places a piece."""
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    t = np.linspace(0, 1, _STEPS)[:, None]
    pieces = []
    for p0, p1, p2, p3 in zip(ends[:-3], ends[1:-2], ends[2:-1], ends[3:], strict=True):
        cubic = 3 * p1 - 3 * p2 + p3 - p0
        pieces.append(p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * cubic)))
    return np.concatenate(pieces)


def _centred(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The image moved so that its centre of mass lies in the middle, as MNIST's digits do."""
    ink = image / image.sum()
    rows, columns = ink.sum(1) @ np.arange(SIDE), ink.sum(0) @ np.arange(SIDE)
    shift = (round((SIDE - 1) / 2 - rows), round((SIDE - 1) / 2 - columns))
    return np.roll(image, shift, (0, 1))

"""Drawn digits: pen strokes through randomly moved points, which imitate handwriting.

No copyright restricts their use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

SIDE = 28
_OVERSAMPLING = 4
_STEPS = 12

Points = npt.NDArray[np.float64]


_WAYS = """
0: arc .5 .5 .27 .4 -.25 .77 15
1: .52 .1, .51 .5, .5 .9
1: .36 .28, .46 .19, .54 .1 | .54 .1, .53 .5, .52 .9
2: arc .48 .31 .23 .21 .52 1.08 8, .52 .6, .25 .88 | .25 .88, .78 .86
3: arc .46 .3 .22 .2 .55 1.22 8 | arc .46 .69 .25 .21 -.24 .42 9
4: .32 .1, .25 .52, .76 .5 | .66 .14, .64 .5, .62 .9
4: .58 .1, .2 .6, .8 .6 | .6 .1, .6 .5, .59 .9
5: .72 .12, .34 .13 | .34 .13, .3 .45 | .3 .45, arc .46 .65 .25 .23 -.27 .4 9
6: .62 .1, .4 .3, .28 .6, arc .48 .68 .2 .2 .5 -.5 11
7: .24 .14, .76 .14 | .76 .14, .56 .5, .44 .9
7: .24 .16, .76 .13 | .76 .13, .56 .5, .44 .9 | .38 .52, .54 .5, .7 .5
8: arc .5 .3 .19 .19 .25 -.75 11 | arc .5 .7 .23 .21 -.25 .75 11
9: arc .48 .31 .2 .2 0 -1 11 | .68 .31, .65 .6, .56 .9
9: arc .48 .31 .2 .2 0 -1 11 | .68 .31, .68 .65, arc .48 .7 .2 .19 0 .4 5
"""
"""One line per way to write a digit: strokes separated by bars, in the unit square. A stroke
consists of points "x y" and arcs "arc x y rx ry start stop points". An arc is part of an ellipse
around x, y, with angles in turns, clockwise from the right.
"""


def _load_ways() -> dict[int, list[list[Points]]]:
    """Return the ways to write each digit. A way is a list of strokes."""
    ways: dict[int, list[list[Points]]] = {}
    for line in _WAYS.strip().splitlines():
        digit, _, strokes = line.partition(": ")
        ways.setdefault(int(digit), []).append(
            [_parse_points(part) for part in strokes.split(" | ")]
        )
    return ways


def _parse_points(stroke: str) -> Points:
    """Parse the points of a stroke: [N, 2]."""
    points = []
    for part in stroke.split(", "):
        numbers = [float(number) for number in part.removeprefix("arc ").split()]
        if not part.startswith("arc"):
            points.append(numbers)
            continue
        x, y, rx, ry, start, stop, count = numbers
        for i in range(int(count)):
            angle = 2 * math.pi * (start + (stop - start) * i / (int(count) - 1))
            points.append([x + rx * math.cos(angle), y + ry * math.sin(angle)])
    return np.array(points)


_STROKES: Mapping[int, list[list[Points]]] = _load_ways()


def draw_digit(digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Draw a digit in imitation of handwriting: uint8 [28, 28], 0 for background and 255 for ink.

    The points of the digit are moved slightly, then slanted, turned and scaled. The digit is drawn
    with a round pen at four times the final size, and centred by its mass.
    """
    ways = _STROKES[digit]
    strokes = ways[rng.integers(len(ways))]
    slant = _draw_slant(rng)
    side = SIDE * _OVERSAMPLING
    image = Image.new("L", (side, side))
    pen = ImageDraw.Draw(image)
    radius = _OVERSAMPLING * rng.uniform(0.85, 1.7)
    for stroke in strokes:
        points = stroke + rng.normal(0, 0.016, stroke.shape)
        for x, y in (_smooth_points(points) - 0.5) @ slant.T * 20 * _OVERSAMPLING + side / 2:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=255)
    small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX))
    return _centre_image(small)


def draw_digits(labels: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return one drawn digit for each label: uint8 [N, 28, 28]."""
    return np.stack([draw_digit(int(label), rng) for label in labels])


def _draw_slant(rng: np.random.Generator) -> Points:
    """Return a random transform of slant, rotation and scale: [2, 2]."""
    turn, shear = rng.normal(0, 0.1), rng.normal(-0.12, 0.16)
    width, height = rng.uniform(0.82, 1.12), rng.uniform(0.9, 1.05)
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    slant: Points = rotation @ np.array([[width, shear * height], [0, height]])
    return slant


def _smooth_points(points: Points) -> Points:
    """Return a Catmull-Rom curve through the points, with `_STEPS` points between neighbours."""
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    t = np.linspace(0, 1, _STEPS)[:, None]
    pieces = []
    for p0, p1, p2, p3 in zip(ends[:-3], ends[1:-2], ends[2:-1], ends[3:], strict=True):
        cubic = 3 * p1 - 3 * p2 + p3 - p0
        pieces.append(p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * cubic)))
    return np.concatenate(pieces)


def _centre_image(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the image shifted so that its centre of mass is in the middle, as in MNIST."""
    ink = image / image.sum()
    rows, columns = ink.sum(1) @ np.arange(SIDE), ink.sum(0) @ np.arange(SIDE)
    shift = (round((SIDE - 1) / 2 - rows), round((SIDE - 1) / 2 - columns))
    return np.roll(image, shift, (0, 1))

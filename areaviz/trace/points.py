"""Points as an input. The text of a request has them as "120,300 400,80": x and y as whole numbers.

Shapes: N points.
"""

from __future__ import annotations

import re

import numpy as np

from areaviz.trace.errors import InputError
from areaviz.trace.kind import Kind
from areaviz.trace.limits import shorten
from areaviz.trace.record import Field, IntArray
from areaviz.trace.request import Request

EXTENT = 1000
"""The largest value of x and y. Both start at 0, and y points upwards."""
_POINT = re.compile(r"(\d{1,4}),(\d{1,4})")


def parse_points(text: str) -> IntArray:
    """Parse the points of a text, int64 [N, 2].

    Raises:
        InputError: A part of the text is not a point, or a point is out of range.
    """
    points = []
    for part in text.split():
        found = _POINT.fullmatch(part)
        if found is None or max(int(found[1]), int(found[2])) > EXTENT:
            raise InputError(
                f'"{shorten(part)}" is not a point. Write each as x,y with whole numbers from'
                f" 0 to {EXTENT:,} and a space between two points, for example: 120,300"
                " 400,80."
            )
        points.append((int(found[1]), int(found[2])))
    return np.array(points, np.int64).reshape(-1, 2)


def format_points(points_N2: IntArray) -> str:
    """Return points as the text of a request."""
    return " ".join(f"{x},{y}" for x, y in points_N2.tolist())


def make_points_field(text: str) -> Field:
    """Return the field of a request's points, labelled by their numbers from 1."""
    points_N2 = parse_points(text)
    labels = tuple(str(number) for number in range(1, len(points_N2) + 1))
    return Field("points", "points", text, labels, points_N2)


def find_points_problem(field: Field, request: Request) -> str:
    """Check that anchors are x and y of the request's points, in their order."""
    try:
        points_N2 = parse_points(request.text)
    except InputError:
        return "is of points but the request's text is not"
    return "" if np.array_equal(points_N2, field.anchors) else "has other points than the request"


POINTS = Kind(
    "points",
    "points",
    2,
    find_points_problem,
    "120,300 400,80",
    named="point {}",
    hidden="The model has read it all the same; a tour comes to it when no other is left.",
)

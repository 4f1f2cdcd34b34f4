"""Outlines that a user drags over a chart, and the points within them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]

# Limits: the browser sends at most 200 corners per outline, and users draw few outlines.
MAX_OUTLINES, MAX_CORNERS = 32, 256


@dataclass(frozen=True, slots=True)
class Outline:
    """A rectangle, given by two opposite corners, or a polygon with at least three corners.

    Args:
        x_C: horizontal positions of the corners.
        y_C: vertical positions of the corners.
    """

    x_C: Values
    y_C: Values

    def spans_x(self, x_P: Values) -> Flags:
        """Return which points are between the leftmost and the rightmost corner; NaN is not."""
        inside: Flags = (x_P >= self.x_C.min()) & (x_P <= self.x_C.max())
        return inside

    def contains(self, x_P: Values, y_P: Values) -> Flags:
        """Return which points are within the outline; NaN is not.

        A point is within a polygon if a ray from it crosses the border an odd number of times.
        """
        if len(self.x_C) == 2:
            return self.spans_x(x_P) & Outline(self.y_C, self.x_C).spans_x(y_P)
        inside_P = np.zeros(len(x_P), bool)
        for corner in range(len(self.x_C)):
            (x0, y0), (x1, y1) = self._get_corner(corner - 1), self._get_corner(corner)
            if y0 == y1:
                continue
            crossing_P = x0 + (y_P - y0) / (y1 - y0) * (x1 - x0)
            inside_P ^= ((y0 > y_P) != (y1 > y_P)) & (x_P < crossing_P)
        return inside_P

    def _get_corner(self, number: int) -> tuple[float, float]:
        return float(self.x_C[number]), float(self.y_C[number])


def read_outlines(reported: object) -> list[Outline]:
    """Return the outlines that a browser reported, without invalid ones."""
    if not isinstance(reported, Sequence) or isinstance(reported, str):
        return []
    found = []
    for one in reported[:MAX_OUTLINES]:
        try:
            x_C, y_C = np.array(one["x"], np.float64), np.array(one["y"], np.float64)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            continue
        if x_C.ndim != 1 or x_C.shape != y_C.shape or not 2 <= len(x_C) <= MAX_CORNERS:
            continue
        if np.isfinite(x_C).all() and np.isfinite(y_C).all():
            found.append(Outline(x_C, y_C))
    return found

"""Numbered points of a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from plotly.graph_objects import Scatter

from areaviz.trace.record import IntArray


def numbered_points(points_N2: IntArray, **more: Any) -> Scatter:
    """Draw points with their numbers, counted from 1, next to them.

    Args:
        points_N2: x and y from 0 to 1,000, y upwards.
        more: other settings of Plotly's Scatter.
    """
    x, y = points_N2.T
    numbers = [str(number) for number in range(1, len(points_N2) + 1)]
    sides = [f"{down} {across}" for down, across in label_positions(points_N2)]
    return Scatter(x=x, y=y, mode="markers+text", text=numbers, textposition=sides, **more)


def label_positions(points_N2: IntArray) -> list[tuple[str, str]]:
    """Choose the side of each point for its number: away from the centre of all points.

    Lines of a hull or a tour rarely leave a point in that direction, so they seldom cross a number.
    """
    found = []
    middle_2 = points_N2.mean(0) if len(points_N2) else np.zeros(2)
    for x, y in (points_N2 - middle_2).tolist():
        beside = "right" if x >= 0 else "left"
        across = "center" if abs(x) < abs(y) / 2 else beside
        found.append(("top" if y >= 0 else "bottom", across))
    return found

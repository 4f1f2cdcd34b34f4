"""A square for entering points by clicking: a lattice of invisible marks receives the clicks."""

from __future__ import annotations

from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.theme import ACCENT, CLEAR, Drawing, axis, screen_figure
from areaviz.trace.points import EXTENT
from areaviz.trace.record import IntArray

STEP = 25
"""Distance between marks of the lattice, in units of the points."""
_MARGIN = 0.04 * EXTENT


def board(points_N2: IntArray, most: int) -> Figure:
    """Draw the points placed so far in a square that receives clicks.

    Args:
        points_N2: x and y from 0 to 1,000, y upwards.
        most: maximum number of points.
    """
    about = Drawing(
        f"{len(points_N2)} of at most {most} points",
        "click into the square to place a point, click a point to take it away",
        "",
    )
    ends = [-_MARGIN, EXTENT + _MARGIN]
    across = axis(range=ends, showticklabels=False, constrain="domain", mirror=True, showline=True)
    down = across | {"scaleanchor": "x"}
    result = screen_figure(about, 338, above=12, below=8, across=across, down=down)
    result.add_trace(_lattice())
    placed = numbered_points(points_N2, hovertemplate="point %{text}<extra></extra>")
    result.add_trace(placed.update(marker_size=14, marker_color=ACCENT))
    return result.update_layout(clickmode="event+select")


def numbered_points(points_N2: IntArray, **more: Any) -> Scatter:
    """Draw points with their numbers, counted from 1, next to them.

    Args:
        points_N2: x and y from 0 to 1,000, y upwards.
        more: other settings of Plotly's Scatter.
    """
    x, y = points_N2.T
    numbers = [str(number) for number in range(1, len(points_N2) + 1)]
    sides = [f"{down} {across}" for down, across in outward(points_N2)]
    return Scatter(x=x, y=y, mode="markers+text", text=numbers, textposition=sides, **more)


def outward(points_N2: IntArray) -> list[tuple[str, str]]:
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


def _lattice() -> Scatter:
    steps = np.arange(0, EXTENT + 1, STEP)
    x, y = np.meshgrid(steps, steps)
    return Scatter(
        x=x.ravel(),
        y=y.ravel(),
        mode="markers",
        marker_size=9,
        marker_color=CLEAR,
        hoverinfo="none",
        selected_marker_opacity=0,
        unselected_marker_opacity=0,
    )


def clicked(points_N2: IntArray, x: int, y: int, most: int) -> IntArray:
    """Return the points after a click, which removes the point at (x, y) or adds one.

    If there are already `most` points, a click elsewhere changes nothing.
    """
    there_N = (points_N2 == (x, y)).all(1)
    if there_N.any():
        left_N2: IntArray = points_N2[~there_N]
        return left_N2
    if len(points_N2) >= most:
        return points_N2
    return np.vstack([points_N2, [(x, y)]]).astype(np.int64)

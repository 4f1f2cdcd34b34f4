"""Choice of the side of each point on which its number is drawn."""

from __future__ import annotations

import numpy as np

from areaviz.trace.areas import IntArray


def label_positions(points_N2: IntArray) -> list[tuple[str, str]]:
    """Return the side of each point that is away from the centre of all points.

    Lines of a hull or a tour rarely leave a point on that side, so they seldom cross its number.
    """
    found = []
    middle_2 = points_N2.mean(0) if len(points_N2) else np.zeros(2)
    for x, y in (points_N2 - middle_2).tolist():
        beside = "right" if x >= 0 else "left"
        across = "center" if abs(x) < abs(y) / 2 else beside
        found.append(("top" if y >= 0 else "bottom", across))
    return found

"""The summed area table, and the sum of any rectangle from four of its entries (Algorithm 1)."""

from __future__ import annotations

import numpy as np

from areaviz.lessons.arithmetic import Floats, compute_padded_table
from areaviz.trace.areas import Area, AreaGrid

MEMORY: Floats = np.array([[2.0, 1, 3, 2], [4, 0, 1, 5], [1, 3, 2, 1]])
GRID = AreaGrid(*MEMORY.shape, *MEMORY.shape)
"""All rectangles of the memory, including the whole memory."""


def compute_table() -> Floats:
    """Return the table of sums with zeros above and to the left."""
    return compute_padded_table(MEMORY[..., None])[..., 0]


def get_corners(area: Area) -> list[float]:
    """Return the entries I1 to I4 of the padded table at the corners of an area (Algorithm 1).

    Each entry is the sum of a rectangle that starts at the top left of the memory. The rectangle of
    I1 ends at the area's end. That of I3 ends left of the area, that of I4 above the area, and I2
    belongs to their intersection. The sum of the area is I1 + I2 - I3 - I4.
    """
    table_HW = compute_table()
    return [float(table_HW[place]) for place in locate_corners(area)]


def locate_corners(area: Area) -> tuple[tuple[int, int], ...]:
    """Return row and column of I1 to I4 in the padded table."""
    bottom = area.top + area.height
    right = area.left + area.width
    return (bottom, right), (area.top, area.left), (bottom, area.left), (area.top, right)

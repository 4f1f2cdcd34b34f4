"""The summed area table, and the sum of any rectangle from four corners (Algorithm 1)."""

from __future__ import annotations

import numpy as np

from areaviz.lessons.arithmetic import Floats, padded_table
from areaviz.trace.areas import Area, AreaGrid

MEMORY: Floats = np.array([[2.0, 1, 3, 2], [4, 0, 1, 5], [1, 3, 2, 1]])
GRID = AreaGrid(*MEMORY.shape, *MEMORY.shape)
"""Every rectangle of the memory, the whole memory included."""


def table() -> Floats:
    """Return the table of sums with zeros above and to the left."""
    return padded_table(MEMORY[..., None])[..., 0]


def corners(area: Area) -> list[float]:
    """Return the entries I1 to I4 of the padded table round an area (Algorithm 1).

    I1 sums the whole rectangle from the top left of the memory to the area's end, I3 what lies left
    of the area, I4 what lies above it, and I2 what I3 and I4 both hold: the area's sum is I1 + I2 -
    I3 - I4.
    """
    table_HW = table()
    return [float(table_HW[place]) for place in corner_places(area)]


def corner_places(area: Area) -> tuple[tuple[int, int], ...]:
    """Return row and column of I1 to I4 in the padded table."""
    bottom = area.top + area.height
    right = area.left + area.width
    return (bottom, right), (area.top, area.left), (bottom, area.left), (area.top, right)

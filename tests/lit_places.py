"""Measure how often the highlighted areas of a page are on the right things.

A query is right if its heaviest area is small, and either has its middle in a box of the query or
contains the middle of such a box. The baseline is an area of equal size in the middle of a picture.
In a memory of one row, such as a sound, it is at the query's relative position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.measures.pointing import Box, find_coordinates_in_boxes
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap

QUARTER = 0.25
"""Largest share of a picture that an area may cover to be right."""


@dataclass(frozen=True, slots=True)
class LitPlaces:
    """Numbers of queries: all that have a box, right ones, and right ones of the baseline."""

    queries: int
    right: int
    middle: int

    @property
    def share(self) -> float:
        """The share of the queries that are right, 0..1."""
        return self.right / self.queries


def lit_places(
    attention: AttentionMap,
    layer: int,
    head: int,
    boxes: Mapping[int, Sequence[Box]],
    largest: float = QUARTER,
) -> LitPlaces:
    """Count the queries whose heaviest area is right in one head.

    Args:
        attention: The map.
        layer: Layer, from 0.
        head: Head, from 0.
        boxes: The boxes by query, counted from 0: left, top, right, bottom as shares of the memory.
            Queries without boxes are not counted.
        largest: Largest share of the memory that an area may cover to be right, 0..1.

    Raises:
        ValueError: There are no boxes.
    """
    if not boxes:
        raise ValueError("There are no boxes. Give at least one.")
    grid, right, middle = attention.grid, 0, 0
    for query, known in boxes.items():
        area = grid.area(int(attention.weights[layer, head, query].argmax()))
        across = 0.5 if grid.height > 1 else (query + 0.5) / attention.weights.shape[2]
        if area.size <= largest * grid.items:
            right += _is_on(area, grid, known)
            middle += _is_on(_placed(area, grid, across), grid, known)
    return LitPlaces(len(boxes), right, middle)


def _is_on(area: Area, grid: AreaGrid, boxes: Sequence[Box]) -> bool:
    """Return whether an area has its middle in a box, or contains the middle of a box."""
    left, right = area.left / grid.width, (area.left + area.width) / grid.width
    top, bottom = area.top / grid.height, (area.top + area.height) / grid.height
    if find_coordinates_in_boxes(
        np.array([(left + right) / 2]), np.array([(top + bottom) / 2]), boxes
    ).item():
        return True
    middles = [((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) for box in boxes]
    return any(left <= x < right and top <= y < bottom for x, y in middles)


def _placed(area: Area, grid: AreaGrid, across: float) -> Area:
    """Return an area of the same size around a place: a share of the width, half of the height."""
    left = np.clip(round(across * grid.width - area.width / 2), 0, grid.width - area.width)
    top = (grid.height - area.height) // 2
    return Area(top, int(left), area.height, area.width)

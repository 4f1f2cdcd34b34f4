"""The areas of a memory, their order, and phrases that describe their position.

A memory is a grid of `height` x `width` items (a sequence has height 1). An area is a rectangle of
at most `max_height` x `max_width` items (Li et al. 2019, section 3). Models and viewers share this
enumeration of the areas: size-major (for h, for w), then row-major over the top-left corner. The
phrases count from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from operator import index as whole

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Area:
    """A rectangle of memory items: its top-left corner (`top`, `left`) and its extent in items."""

    top: int
    left: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """The number of items in the area."""
        return self.height * self.width


@dataclass(frozen=True, slots=True)
class AreaGrid:
    """All areas of a `height` x `width` memory up to `max_height` x `max_width` items.

    Raises:
        ValueError: A size is below 1, or the largest area would exceed the memory.
    """

    height: int
    width: int
    max_height: int
    max_width: int

    def __post_init__(self) -> None:
        if min(self.height, self.width, self.max_height, self.max_width) < 1:
            raise ValueError(f"Memory and area sizes must be at least 1, got {self}.")
        if self.max_height > self.height or self.max_width > self.width:
            raise ValueError(
                f"The largest area is {self.max_height}x{self.max_width} but the memory only"
                f" has {self.height}x{self.width} items. Choose a smaller area size."
            )

    @classmethod
    def clamped(cls, shape: tuple[int, int], max_area: tuple[int, int]) -> AreaGrid:
        """Return the grid for a memory of `shape`, with the area size limited to the memory."""
        return cls(*shape, min(max_area[0], shape[0]), min(max_area[1], shape[1]))

    @property
    def items(self) -> int:
        """The number of items in the memory."""
        return self.height * self.width

    @property
    def count(self) -> int:
        """The number of areas: |R| = |Rv||Rh|, |Rh| = (L-S)S + S(S+1)/2 (Li et al. 2019)."""
        return _count_placements(self.height, self.max_height) * _count_placements(
            self.width, self.max_width
        )

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Yield every (height, width) that an area can have, in enumeration order."""
        for height in range(1, self.max_height + 1):
            for width in range(1, self.max_width + 1):
                yield height, width

    def slab(self, height: int, width: int) -> tuple[int, int, int]:
        """Locate the areas of one shape: (first index, rows of corners, columns of corners)."""
        rows, columns = self.height - height + 1, self.width - width + 1
        first = _count_placements(self.height, height - 1) * _count_placements(
            self.width, self.max_width
        )
        return first + rows * _count_placements(self.width, width - 1), rows, columns

    def index(self, area: Area) -> int:
        """Return the index of `area`, in constant time.

        Raises:
            ValueError: The area is not part of this grid.
        """
        fits = 1 <= area.height <= self.max_height and 1 <= area.width <= self.max_width
        first, rows, columns = self.slab(area.height, area.width)
        if not (fits and 0 <= area.top < rows and 0 <= area.left < columns):
            raise ValueError(f"{area} is not an area of {self}.")
        return first + area.top * columns + area.left

    def area(self, index: int) -> Area:
        """Return the area at `index`, in constant time and without a table.

        Raises:
            IndexError: The index is outside 0..count-1.
        """
        if not 0 <= index < self.count:
            raise IndexError(f"Area index {index} is outside 0..{self.count - 1}.")
        # Convert to int: a NumPy integer would end up in the Area, and JSON cannot serialise it.
        index = whole(index)
        row_areas = _count_placements(self.width, self.max_width)
        height = _find_extent(self.height, self.max_height, index // row_areas)
        index -= _count_placements(self.height, height - 1) * row_areas
        rows = self.height - height + 1
        width = _find_extent(self.width, self.max_width, index // rows)
        index -= rows * _count_placements(self.width, width - 1)
        return Area(*divmod(index, self.width - width + 1), height, width)

    def items_of(self, area: Area) -> tuple[int, ...]:
        """Return the indices of the items in an area, row by row."""
        rows = range(area.top, area.top + area.height)
        columns = range(area.left, area.left + area.width)
        return tuple(row * self.width + column for row in rows for column in columns)

    def table(self) -> IntArray:
        """Return every area as a row (top, left, height, width): int64 [count, 4]."""
        found_R4 = np.empty((self.count, 4), np.int64)
        for height, width in self.shapes():
            first, rows, columns = self.slab(height, width)
            slab_R4 = found_R4[first : first + rows * columns]
            slab_R4[:, 0], slab_R4[:, 1] = np.divmod(np.arange(rows * columns), columns)
            slab_R4[:, 2:] = height, width
        return found_R4

    def sizes(self) -> IntArray:
        """Return the number of items in each area: int64 [count]."""
        height_S, width_S = np.array(list(self.shapes())).T
        counts_S = (self.height - height_S + 1) * (self.width - width_S + 1)
        return np.repeat(height_S * width_S, counts_S)


def _count_placements(length: int, extent: int) -> int:
    """Return the number of runs of 1..extent items that fit in `length` items."""
    return extent * length - extent * (extent - 1) // 2


def _find_extent(length: int, max_extent: int, offset: int) -> int:
    """Return the extent whose placements contain `offset`.

    This inverts `_count_placements`, which is quadratic in the extent.
    """
    root = ((2 * length + 1) - isqrt((2 * length + 1) ** 2 - 8 * offset)) // 2
    extent = max(1, min(root + 1, max_extent))
    while _count_placements(length, extent - 1) > offset:
        extent -= 1
    while extent < max_extent and _count_placements(length, extent) <= offset:
        extent += 1
    return extent


def format_area(area: Area) -> str:
    """Describe an area of a picture's cells, such as "rows 2-3, columns 4-6"."""
    return f"{run_text('row', area.top, area.height)}, {run_text('column', area.left, area.width)}"


def format_span(area: Area) -> str:
    """Describe an area of a text's items, such as "item 3" or "items 3-5"."""
    return run_text("item", area.left, area.width)


def run_text(name: str, first: int, count: int) -> str:
    """Describe neighbouring rows, columns or items, such as "row 2" or "rows 2-3".

    Args:
        name: Singular noun for one neighbour, such as "row".
        first: Index of the first neighbour, counted from 0.
        count: Number of neighbours.
    """
    return f"{name} {first + 1}" if count == 1 else f"{name}s {first + 1}-{first + count}"

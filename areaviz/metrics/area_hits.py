"""Whether whole areas find what a word names: the heaviest area against the gold boxes.

`areaviz.metrics.pointing` asks which cell is heaviest; here an area counts as a whole.
Shapes: A areas, R rows and C columns of places where areas of one shape can lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from areaviz.metrics.pointing import Box, FloatArray, box_overlaps, in_any
from areaviz.trace.areas import Area, AreaGrid


def area_figures(
    rows: Iterable[tuple[FloatArray, AreaGrid, Sequence[Box]]],
) -> dict[str, float]:
    """The figures of the heaviest area of many words, of equal ones the first.

    multi_words: share of the words whose heaviest area has several cells. overlap: mean
    intersection over union of the heaviest area and the boxes; overlap_cell: of the single cell
    that overlaps the boxes most, the best that single cells could do; overlap_lift: the first
    divided by the second.

    area_hit: share of the words whose heaviest area has its middle in a box. area_hit_fixed: what
    areas of the same shapes would have that always lie at one place, the best for each shape on
    these very words.

    Args:
        rows: for each word its weights [A], their grid and its gold boxes.

    Raises:
        ValueError: there are no words.
    """
    words = several = hits = 0
    overlap = overlap_cell = 0.0
    sums: dict[tuple[int, int], FloatArray] = {}
    for weights_A, grid, boxes in rows:
        top = grid.area(int(weights_A.argmax()))
        overlap_A = box_overlaps(grid, boxes)
        hit_RC = _middles_inside(top, grid, boxes)
        shape = (top.height, top.width)
        sums[shape] = sums.get(shape, np.zeros(hit_RC.shape)) + hit_RC
        hits += int(hit_RC[top.top, top.left])
        several += top.size > 1
        overlap += float(overlap_A[grid.index(top)])
        # Single cells come first in the order of areas.
        overlap_cell += float(overlap_A[: grid.items].max())
        words += 1
    if not words:
        raise ValueError("Figures need at least one word that has gold boxes, got none.")
    return {
        "multi_words": several / words,
        "overlap": overlap / words,
        "overlap_cell": overlap_cell / words,
        "overlap_lift": overlap / max(overlap_cell, 1e-9),
        "area_hit": hits / words,
        "area_hit_fixed": float(sum(hit_RC.max() for hit_RC in sums.values())) / words,
    }


def _middles_inside(area: Area, grid: AreaGrid, boxes: Sequence[Box]) -> FloatArray:
    """Whether areas shaped like `area` have their middle in a box, wherever they lie: [R, C]."""
    top_R = np.arange(grid.height - area.height + 1)
    left_C = np.arange(grid.width - area.width + 1)
    y_R, x_C = (top_R + area.height / 2) / grid.height, (left_C + area.width / 2) / grid.width
    inside_RC: FloatArray = in_any(x_C, y_R, boxes).astype(np.float64)
    return inside_RC

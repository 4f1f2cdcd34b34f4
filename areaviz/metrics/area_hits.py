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

    multi_words: share of the words whose heaviest area has several cells.

    overlap: mean intersection over union of the heaviest area and the boxes. overlap_cell: of the
    heaviest single cell. overlap_lift: the first divided by the second. overlap_best_cell and
    overlap_best: of the cell and of the area that overlap the boxes most, whatever the weights, so
    the most that single cells and areas could have.

    area_hit: share of the words whose heaviest area has its middle in a box. area_hit_fixed: what
    areas of the same shapes would have that always lie at one place, the best for each shape on
    these very words.

    Args:
        rows: for each word its weights [A], their grid and its gold boxes.

    Raises:
        ValueError: there are no words.
    """
    words = several = hits = 0
    overlaps_4 = np.zeros(4)
    sums: dict[tuple[int, int], FloatArray] = {}
    for weights_A, grid, boxes in rows:
        top = grid.area(int(weights_A.argmax()))
        overlap_A = box_overlaps(grid, boxes)
        hit_RC = _middles_inside(top, grid, boxes)
        shape = (top.height, top.width)
        sums[shape] = sums.get(shape, np.zeros(hit_RC.shape)) + hit_RC
        hits += int(hit_RC[top.top, top.left])
        several += top.size > 1
        # Single cells come first in the order of areas.
        cells_N = overlap_A[: grid.items]
        cell = int(weights_A[: grid.items].argmax())
        own = overlap_A[grid.index(top)]
        overlaps_4 += own, cells_N[cell], cells_N.max(), overlap_A.max()
        words += 1
    if not words:
        raise ValueError("Figures need at least one word that has gold boxes, got none.")
    overlap, overlap_cell, best_cell, best = (overlaps_4 / words).tolist()
    return {
        "multi_words": several / words,
        "overlap": overlap,
        "overlap_cell": overlap_cell,
        "overlap_lift": overlap / max(overlap_cell, 1e-9),
        "overlap_best_cell": best_cell,
        "overlap_best": best,
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

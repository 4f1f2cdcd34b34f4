"""Localisation by whole areas, which compares the top area of a word with its gold boxes.

`areaviz.measures.pointing` evaluates the top cell. Here, an area is evaluated as a whole.

Shapes: A areas, R rows and C columns of possible positions of areas of one shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from areaviz.measures.pointing import Box, Floats, compute_box_overlaps, find_coordinates_in_boxes
from areaviz.trace.areas import Area, AreaGrid


def compute_area_hits(
    rows: Iterable[tuple[Floats, AreaGrid, Sequence[Box]]],
) -> dict[str, float]:
    """Compute the figures of the top areas of many words. Ties are resolved by index.

    - multi_words: share of the words whose top area has several cells.
    - overlap: mean intersection over union of the top area and the boxes.
    - overlap_cell: mean intersection over union of the top single cell and the boxes.
    - overlap_lift: overlap divided by overlap_cell.
    - overlap_best_cell and overlap_best: mean overlap of the best cell and of the best area
      regardless of weights, which are the upper limits for cells and areas.
    - area_hit: share of the words whose top area has its centre in a box.
    - area_hit_fixed: the area_hit of areas of the same shapes at one fixed position per shape,
    which is the best one for the given words.

    Args:
        rows: For each word its weights [A], their grid and its gold boxes.

    Raises:
        ValueError: There are no words.
    """
    words = several = hits = 0
    overlaps_4 = np.zeros(4)
    sums: dict[tuple[int, int], Floats] = {}
    for weights_A, grid, boxes in rows:
        top = grid.area(int(weights_A.argmax()))
        overlap_A = compute_box_overlaps(grid, boxes)
        hit_RC = _find_centres_inside(top, grid, boxes)
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


def _find_centres_inside(area: Area, grid: AreaGrid, boxes: Sequence[Box]) -> Floats:
    """Return whether an area of this shape has its centre in a box at each position: [R, C]."""
    top_R = np.arange(grid.height - area.height + 1)
    left_C = np.arange(grid.width - area.width + 1)
    y_R, x_C = (top_R + area.height / 2) / grid.height, (left_C + area.width / 2) / grid.width
    inside_RC: Floats = find_coordinates_in_boxes(x_C, y_R, boxes).astype(np.float64)
    return inside_RC

"""Localisation metrics for positions and shapes in a picture: hits, coverage and overlap.

Shapes: B pictures, S their side, T glimpses, K gold boxes. Boxes are left, top, right, bottom in
pixels, right and bottom exclusive. Positions and corners are (x, y). Anything outside the picture
is ignored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def find_hits(places_BT2: FloatArray, boxes_BK4: IntArray) -> BoolArray:
    """Return whether each position is in any gold box of its picture: bool [B, T]."""
    x, y = places_BT2[:, :, None, 0], places_BT2[:, :, None, 1]
    left, top, right, bottom = np.moveaxis(boxes_BK4[:, None], 3, 0)
    inside: BoolArray = ((left <= x) & (x < right) & (top <= y) & (y < bottom)).any(2)
    return inside


def compute_covered_share(read_BT4: IntArray, boxes_BK4: IntArray, side: int) -> FloatArray:
    """Return the share of the gold boxes' pixels that are in any read box: [B], 0..1.

    Pixels in several boxes count once. Each picture must have a pixel in a gold box.
    """
    gold_BSS, read_BSS = _fill_boxes(boxes_BK4, side), _fill_boxes(read_BT4, side)
    share: FloatArray = (gold_BSS & read_BSS).sum((1, 2)) / gold_BSS.sum((1, 2))
    return share


def compute_box_overlap(corners_B42: FloatArray, boxes_B4: IntArray, side: int) -> FloatArray:
    """Return the intersection over union of convex quadrilaterals and gold boxes: [B], 0..1.

    It is counted in pixel centres. Corners run around the quadrilateral in either direction. A
    quadrilateral that has collapsed to a line or a point contains nothing. Each gold box must
    contain a pixel of the picture.
    """
    centre = np.arange(side) + 0.5
    corners_42B11 = np.moveaxis(corners_B42, 0, 2)[..., None, None].astype(np.float64)
    gold_BSS = _fill_boxes(boxes_B4[:, None], side)
    left_BSS, right_BSS = np.ones_like(gold_BSS), np.ones_like(gold_BSS)
    for (x0, y0), (x1, y1) in zip(corners_42B11, np.roll(corners_42B11, -1, 0), strict=True):
        turn_BSS = (x1 - x0) * (centre[:, None] - y0) - (y1 - y0) * (centre - x0)
        left_BSS &= turn_BSS >= 0
        right_BSS &= turn_BSS <= 0
    # For a line or a point, a pixel may be on both sides of all edges (turn 0). This is impossible
    # for any other quadrilateral.
    inside_BSS = left_BSS ^ right_BSS
    shared_B, either_B = (inside_BSS & gold_BSS).sum((1, 2)), (inside_BSS | gold_BSS).sum((1, 2))
    overlap: FloatArray = shared_B / either_B
    return overlap


def _fill_boxes(boxes_BK4: IntArray, side: int) -> BoolArray:
    """Return the pixels in any of the boxes: bool [B, S, S]."""
    pixel = np.arange(side)
    left, top, right, bottom = np.moveaxis(boxes_BK4, 2, 0)[..., None]
    columns = (left <= pixel) & (pixel < right)
    rows = (top <= pixel) & (pixel < bottom)
    filled: BoolArray = (rows[:, :, :, None] & columns[:, :, None, :]).any(1)
    return filled

"""Metrics of attention to gold boxes in a picture: the pointing game and the mass in the boxes.

Shapes: A areas, N = H * W cells. Boxes are left, top, right, bottom as shares of the picture. A
position on the right or bottom edge of a box is outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from areaviz.metrics.localisation import BoolArray, FloatArray, IntArray
from areaviz.trace.areas import AreaGrid, area_sums, coverage_shares, sum_coverage

Box = tuple[float, float, float, float]
MIDDLE = np.array([0.5])
"""The centre of a picture, as a share of its width or height."""


def compute_cell_shares(weights_A: FloatArray, grid: AreaGrid) -> FloatArray:
    """Return the share of the attention that each cell receives: float32 [N], sums to 1."""
    return coverage_shares(sum_coverage(np.asarray(weights_A, dtype=np.float32), grid))


def is_pointing_right(weights_A: FloatArray, grid: AreaGrid, boxes: Sequence[Box]) -> bool:
    """Return whether the top cell's centre is in any box: the pointing game (Zhang et al. 2018).

    Ties are resolved in favour of the first cell.
    """
    return bool(find_centres_inside(grid, boxes)[compute_cell_shares(weights_A, grid).argmax()])


def sum_share_in_boxes(weights_A: FloatArray, grid: AreaGrid, boxes: Sequence[Box]) -> float:
    """Return the share of the attention inside the gold boxes, 0..1. Cells may be partly inside."""
    return float(compute_cell_shares(weights_A, grid) @ compute_inside_shares(grid, boxes))


def find_centres_inside(grid: AreaGrid, boxes: Sequence[Box]) -> BoolArray:
    """Return whether the centre of each cell is in any box: bool [N]."""
    y, x = (np.arange(grid.height) + 0.5) / grid.height, (np.arange(grid.width) + 0.5) / grid.width
    return find_coordinates_in_boxes(x, y, boxes).ravel()


def compute_inside_shares(grid: AreaGrid, boxes: Sequence[Box]) -> FloatArray:
    """Return the share of each cell inside any box, float64 [N]. Its mean is the boxes' area."""
    edges = np.array(boxes, dtype=np.float64).reshape(-1, 4).clip(0, 1)
    x, column_C = _find_cuts(edges[:, 0::2], grid.width)
    y, row_R = _find_cuts(edges[:, 1::2], grid.height)
    # Neither a cell nor a box has an edge inside a piece between two cuts, so the centre of a piece
    # decides for the whole piece.
    inside_RC = find_coordinates_in_boxes((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, boxes)
    area_RC = np.diff(y)[:, None] * np.diff(x) * inside_RC
    area_HW = np.add.reduceat(np.add.reduceat(area_RC, row_R, 0), column_C, 1)
    share: FloatArray = area_HW.ravel() * grid.items
    return share


def compute_box_overlaps(grid: AreaGrid, boxes: Sequence[Box]) -> FloatArray:
    """Return the overlap of every area with the union of the boxes, float64 [A], 0..1.

    It is the intersection over union, counted in cells. A cell that is partly inside counts in
    part.
    """
    inside_N = compute_inside_shares(grid, boxes)
    shared_A = area_sums(inside_N.astype(np.float32)[None], grid)[0].astype(np.float64)
    overlap_A: FloatArray = shared_A / (grid.sizes() + inside_N.sum() - shared_A)
    return overlap_A


def compute_pointing_figures(
    rows: Iterable[tuple[FloatArray, AreaGrid, Sequence[Box]]],
) -> dict[str, float]:
    """Compute both metrics over many words, with baselines that ignore the picture.

    - pointing: share of the words for which `is_pointing_right` holds.
    - mass: mean of `sum_share_in_boxes`.
    - words: number of words.
    - pointing_uniform and mass_uniform: for uniform cells, the mean share of cells with their
      centre in the boxes, and the mean area of the boxes. (Uniform weights over areas would favour
      the centre of the picture.)
    - pointing_middle: for all attention on the centre, where most photographs show their subject.
    - pointing_position and mass_position: for the mean of all words' cell shares, which shows where
    the model attends and where boxes are on average. A model finds objects only if its figures
    exceed these.

    Args:
        rows: For each word its weights [A], their grid and its gold boxes. They are read once, and
            only sums over cells are stored.

    Raises:
        ValueError: There are no words, or their grids have different cells.
    """
    words, right, mass, shape = 0, 0.0, 0.0, (0, 0)
    in_middle, sums_3N = 0, np.zeros((3, 0))
    for weights_A, grid, boxes in rows:
        cells = (grid.height, grid.width)
        if words and cells != shape:
            raise ValueError(
                f"Only words over the same cells have a mean, got {shape} and {cells}."
            )
        shares_N = compute_cell_shares(weights_A, grid)
        middles_N, inside_N = find_centres_inside(grid, boxes), compute_inside_shares(grid, boxes)
        row_3N = np.stack([shares_N, middles_N, inside_N])
        right += middles_N[shares_N.argmax()]
        mass += row_3N[0] @ inside_N
        in_middle += int(find_coordinates_in_boxes(MIDDLE, MIDDLE, boxes).item())
        sums_3N = sums_3N + row_3N if words else row_3N
        words, shape = words + 1, cells
    if not words:
        raise ValueError("Figures need at least one word that has gold boxes, got none.")
    shares_N, middles_N, inside_N = sums_3N / words
    return {
        "pointing": float(right / words),
        "mass": float(mass / words),
        "pointing_uniform": float(middles_N.mean()),
        "mass_uniform": float(inside_N.mean()),
        "pointing_middle": in_middle / words,
        "pointing_position": float(middles_N[shares_N.argmax()]),
        "mass_position": float(shares_N @ inside_N),
        "words": words,
    }


def find_coordinates_in_boxes(x: FloatArray, y: FloatArray, boxes: Sequence[Box]) -> BoolArray:
    """Return whether each pair of coordinates is in any box: bool [len(y), len(x)]."""
    inside = np.zeros((len(y), len(x)), dtype=bool)
    for left, top, right, bottom in boxes:
        inside |= ((top <= y) & (y < bottom))[:, None] & ((left <= x) & (x < right))
    return inside


def _find_cuts(edges: FloatArray, cells: int) -> tuple[FloatArray, IntArray]:
    """Return the sorted edges of cells and boxes, 0..1, and the indices of the cells' starts."""
    borders = np.arange(cells + 1) / cells
    cuts = np.unique(np.concatenate([borders, edges.ravel()]))
    return cuts, np.searchsorted(cuts, borders[:-1])

"""Pointing: whether attention hits the known boxes, moments or frames of words.

Positions and shapes come first, then gold boxes in a picture, and last the mean map of several
heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray, area_sums, coverage_shares, sum_coverage
from areaviz.trace.derived import STEPS, Choice, shift_by_step

# Localisation metrics for positions and shapes in a picture: hits, coverage and overlap.
#
# Shapes: B pictures, S their side, T glimpses, K gold boxes. Boxes are left, top, right, bottom in
# pixels, right and bottom exclusive. Positions and corners are (x, y). Anything outside the picture
# is ignored.


Floats = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def find_hits(places_BT2: Floats, boxes_BK4: IntArray) -> BoolArray:
    """Return whether each position is in any gold box of its picture: bool [B, T]."""
    x, y = places_BT2[:, :, None, 0], places_BT2[:, :, None, 1]
    left, top, right, bottom = np.moveaxis(boxes_BK4[:, None], 3, 0)
    inside: BoolArray = ((left <= x) & (x < right) & (top <= y) & (y < bottom)).any(2)
    return inside


def compute_covered_share(read_BT4: IntArray, boxes_BK4: IntArray, side: int) -> Floats:
    """Return the share of the gold boxes' pixels that are in any read box: [B], 0..1.

    Pixels in several boxes count once. Each picture must have a pixel in a gold box.
    """
    gold_BSS, read_BSS = _fill_boxes(boxes_BK4, side), _fill_boxes(read_BT4, side)
    share: Floats = (gold_BSS & read_BSS).sum((1, 2)) / gold_BSS.sum((1, 2))
    return share


def compute_box_overlap(corners_B42: Floats, boxes_B4: IntArray, side: int) -> Floats:
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
    overlap: Floats = shared_B / either_B
    return overlap


def _fill_boxes(boxes_BK4: IntArray, side: int) -> BoolArray:
    """Return the pixels in any of the boxes: bool [B, S, S]."""
    pixel = np.arange(side)
    left, top, right, bottom = np.moveaxis(boxes_BK4, 2, 0)[..., None]
    columns = (left <= pixel) & (pixel < right)
    rows = (top <= pixel) & (pixel < bottom)
    filled: BoolArray = (rows[:, :, :, None] & columns[:, :, None, :]).any(1)
    return filled


# Metrics of attention to gold boxes in a picture: the pointing game and the mass in the boxes.
#
# Shapes: A areas, N = H * W cells. Boxes are left, top, right, bottom as shares of the picture. A
# position on the right or bottom edge of a box is outside.


Box = tuple[float, float, float, float]
MIDDLE = np.array([0.5])
"""The centre of a picture, as a share of its width or height."""


def compute_cell_shares(weights_A: Floats, grid: AreaGrid) -> Floats:
    """Return the share of the attention that each cell receives: float32 [N], sums to 1."""
    return coverage_shares(sum_coverage(np.asarray(weights_A, dtype=np.float32), grid))


def is_pointing_right(weights_A: Floats, grid: AreaGrid, boxes: Sequence[Box]) -> bool:
    """Return whether the top cell's centre is in any box: the pointing game (Zhang et al. 2018).

    Ties are resolved in favour of the first cell.
    """
    return bool(find_centres_inside(grid, boxes)[compute_cell_shares(weights_A, grid).argmax()])


def sum_share_in_boxes(weights_A: Floats, grid: AreaGrid, boxes: Sequence[Box]) -> float:
    """Return the share of the attention inside the gold boxes, 0..1. Cells may be partly inside."""
    return float(compute_cell_shares(weights_A, grid) @ compute_inside_shares(grid, boxes))


def find_centres_inside(grid: AreaGrid, boxes: Sequence[Box]) -> BoolArray:
    """Return whether the centre of each cell is in any box: bool [N]."""
    y, x = (np.arange(grid.height) + 0.5) / grid.height, (np.arange(grid.width) + 0.5) / grid.width
    return find_coordinates_in_boxes(x, y, boxes).ravel()


def compute_inside_shares(grid: AreaGrid, boxes: Sequence[Box]) -> Floats:
    """Return the share of each cell inside any box, float64 [N]. Its mean is the boxes' area."""
    edges = np.array(boxes, dtype=np.float64).reshape(-1, 4).clip(0, 1)
    x, column_C = _find_cuts(edges[:, 0::2], grid.width)
    y, row_R = _find_cuts(edges[:, 1::2], grid.height)
    # Neither a cell nor a box has an edge inside a piece between two cuts, so the centre of a piece
    # decides for the whole piece.
    inside_RC = find_coordinates_in_boxes((x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, boxes)
    area_RC = np.diff(y)[:, None] * np.diff(x) * inside_RC
    area_HW = np.add.reduceat(np.add.reduceat(area_RC, row_R, 0), column_C, 1)
    share: Floats = area_HW.ravel() * grid.items
    return share


def compute_box_overlaps(grid: AreaGrid, boxes: Sequence[Box]) -> Floats:
    """Return the overlap of every area with the union of the boxes, float64 [A], 0..1.

    It is the intersection over union, counted in cells. A cell that is partly inside counts in
    part.
    """
    inside_N = compute_inside_shares(grid, boxes)
    shared_A = area_sums(inside_N.astype(np.float32)[None], grid)[0].astype(np.float64)
    overlap_A: Floats = shared_A / (grid.sizes() + inside_N.sum() - shared_A)
    return overlap_A


def compute_pointing_figures(
    rows: Iterable[tuple[Floats, AreaGrid, Sequence[Box]]],
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


def find_coordinates_in_boxes(x: Floats, y: Floats, boxes: Sequence[Box]) -> BoolArray:
    """Return whether each pair of coordinates is in any box: bool [len(y), len(x)]."""
    inside = np.zeros((len(y), len(x)), dtype=bool)
    for left, top, right, bottom in boxes:
        inside |= ((top <= y) & (y < bottom))[:, None] & ((left <= x) & (x < right))
    return inside


def _find_cuts(edges: Floats, cells: int) -> tuple[Floats, IntArray]:
    """Return the sorted edges of cells and boxes, 0..1, and the indices of the cells' starts."""
    borders = np.arange(cells + 1) / cells
    cuts = np.unique(np.concatenate([borders, edges.ravel()]))
    return cuts, np.searchsorted(cuts, borders[:-1])


# Metrics of whether the mean map of several heads points at known boxes, moments or frames.
#
# A word is right if the heaviest candidate of its mean map is in its place. Candidates are the
# items, or all areas if a metric is about the heaviest area.
#
# Shapes: L layers, H heads, Q queries, W words with a known place, N candidates, S steps.


ROUNDS = 1000
"""Number of resampled sets of examples for an interval."""


@dataclass(frozen=True, slots=True, eq=False)
class PointedWords:
    """The rows of every head for words whose place is known, over many examples."""

    # Row of each word at each step of `STEPS`, float32 [S, L, H, W, N].
    rows: FloatArray
    # True if a candidate is in the place of the word, [W, N].
    right: BoolArray
    # Number of the example of each word, ascending, [W].
    examples: IntArray

    @classmethod
    def of(cls, weights_LHQN: FloatArray, queries: Sequence[int], right: BoolArray) -> PointedWords:
        """Read one example: all its rows, the query of each word, and the word's place [W, N]."""
        later = [_shift_rows(weights_LHQN, step)[:, :, list(queries)] for step in STEPS]
        rows = np.stack(later).astype(np.float32)
        return cls(rows, right, np.zeros(len(queries), np.int64))

    @classmethod
    def joined(cls, examples: Sequence[PointedWords]) -> PointedWords:
        """Join examples of one model. Examples with fewer candidates are filled with zeros.

        Raises:
            ValueError: There are no words.
        """
        if not any(len(one) for one in examples):
            raise ValueError("There are no words with a known place. Give at least one.")
        most = max(one.right.shape[1] for one in examples)
        rows, right, numbers = [], [], []
        for number, one in enumerate(examples):
            missing = most - one.right.shape[1]
            rows.append(np.pad(one.rows, [(0, 0)] * 4 + [(0, missing)]))
            right.append(np.pad(one.right, [(0, 0), (0, missing)]))
            numbers.append(np.full(len(one), number))
        return cls(np.concatenate(rows, 3), np.concatenate(right), np.concatenate(numbers))

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.right)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of layers and of heads per layer."""
        return self.rows.shape[1], self.rows.shape[2]

    def tops(self, heads: Sequence[Choice]) -> IntArray:
        """Return the heaviest candidate of each word in the mean map of heads: [W]."""
        tops: IntArray = self._mean(heads).argmax(-1)
        return tops

    def hits(self, heads: Sequence[Choice]) -> BoolArray:
        """Return whether the mean map of heads points at the place of each word: [W]."""
        found: BoolArray = self.right[np.arange(len(self)), self.tops(heads)]
        return found

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the share of words that the mean map of heads points at wrongly, 0..1."""
        return 1.0 - float(self.hits(heads).mean())

    def blind(self, heads: Sequence[Choice]) -> float:
        """Return the share of right words, 0..1, if every word gets the mean map of all words."""
        fixed = int(self._mean(heads).mean(0).argmax())
        return float(self.right[:, fixed].mean())

    def _mean(self, heads: Sequence[Choice]) -> FloatArray:
        rows = [self.rows[STEPS.index(step), layer, head] for layer, head, step in heads]
        mean_WN: FloatArray = np.mean(rows, axis=0, dtype=np.float32)
        return mean_WN


def bootstrap_hit_interval(
    hits_W: BoolArray, examples_W: IntArray, rounds: int = ROUNDS, seed: int = 1
) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % quantiles of the share of hits over resampled examples."""
    numbers, own_W = np.unique(examples_W, return_inverse=True)
    words_E = np.bincount(own_W)
    hits_E = np.bincount(own_W, hits_W)
    drawn_RE = np.random.default_rng(seed).integers(len(numbers), size=(rounds, len(numbers)))
    shares_R = hits_E[drawn_RE].sum(1) / words_E[drawn_RE].sum(1)
    low, high = np.quantile(shares_R, (0.025, 0.975))
    return float(low), float(high)


def _shift_rows(weights_LHQN: FloatArray, step: int) -> FloatArray:
    """Return the rows of every head that are read `step` steps later."""
    moved = [[shift_by_step(rows_QN, step) for rows_QN in layer] for layer in weights_LHQN]
    return np.array(moved)

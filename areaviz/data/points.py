"""Sets of points in a square, with exact answers: the convex hull and the shortest tour.

Both answers are lists of points, counter-clockwise from the leftmost point. The last point is
connected to the first. With this order, every set has exactly one answer to each problem.

Shapes: B sets, N points, T positions of an answer, M = N - 1 points without the first, S subsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KINDS: Mapping[str, str] = {"hull": "convex hull", "tour": "shortest tour"}
"""The problems on points, with their names for readers."""
FEWEST, MOST = 3, 12
"""Minimum and maximum number of points in a set. The time of the exact tour doubles with each point
and is a fifth of a second for the maximum.
"""
VALID_SETS, TEST_SETS = 1000, 2000
"""Number of held-out sets of each size."""
_SEEDS = {"val": 1_000_001, "test": 2_000_003}
CHUNK = 2048
"""Number of sets whose tours are computed at once. It limits the memory."""


@dataclass(frozen=True, slots=True)
class PointSets:
    """Sets that all have the same number of points."""

    # [B, N, 2], x and y from 0 to 1.
    points: FloatArray
    # [B, N], the exact answers as indices of points, padded with -1.
    answers: IntArray

    def __len__(self) -> int:
        return len(self.points)


def draw_point_sets(kind: str, count: int, points: int, rng: np.random.Generator) -> PointSets:
    """Return sets of uniformly distributed points in the unit square, with their exact answers."""
    points_BN2 = rng.random((count, points, 2))
    return PointSets(points_BN2, solve_exactly(kind, points_BN2))


def draw_held_out_sets(kind: str, split: str, points: int) -> PointSets:
    """Return the sets of "val" or "test" with a given number of points. Each has its own seed."""
    count = VALID_SETS if split == "val" else TEST_SETS
    return draw_point_sets(kind, count, points, np.random.default_rng((_SEEDS[split], points)))


def solve_exactly(kind: str, points_BN2: FloatArray) -> IntArray:
    """Return the exact answers to sets: indices of points [B, N], padded with -1.

    Args:
        kind: A key of `KINDS`.
        points_BN2: The points.

    Raises:
        ValueError: `kind` is "hull" and all points of a set are on one line.
    """
    if kind == "tour":
        chunks = []
        for first in range(0, len(points_BN2), CHUNK):
            chunks.append(find_shortest_tours(points_BN2[first : first + CHUNK]))
        return np.concatenate(chunks)
    answers_BN = np.full(points_BN2.shape[:2], -1)
    for answer_N, points_N2 in zip(answers_BN, points_BN2, strict=True):
        found = find_convex_hull(points_N2)
        answer_N[: len(found)] = found
    return answers_BN


def find_convex_hull(points_N2: FloatArray) -> list[int]:
    """Return the indices of the convex hull's corners, computed by Qhull (scipy).

    Raises:
        ValueError: All points are on one line.
    """
    # Imported here, because scipy takes a second to import and only training needs many hulls.
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners = [int(corner) for corner in ConvexHull(points_N2).vertices]
    except QhullError as error:
        raise ValueError("All points lie on one line.") from error
    first = corners.index(find_leftmost_point(points_N2))
    return corners[first:] + corners[:first]


def find_leftmost_point(points_N2: FloatArray) -> int:
    """Return the index of the point with the smallest x. The smallest y decides between several."""
    return int(np.lexsort((points_N2[:, 1], points_N2[:, 0]))[0])


def find_shortest_tours(points_BN2: FloatArray) -> IntArray:
    """Return the shortest closed tour of every set [B, N], by dynamic programming over subsets.

    The algorithm is that of Held and Karp 1962. `best[S][:, j]` is the length of the shortest path
    that leaves the first point, visits the points S and ends in the point j of S. It is the minimum
    of `best[S without j][:, k]` plus the distance from k to j, over all k in S without j. The
    algorithm is exact and finds the tours of thousands of small sets at once. A solver of larger
    problems, such as Concorde or OR-tools, would be an additional dependency.
    """
    count, others = len(points_BN2), points_BN2.shape[1] - 1
    way_BNN = np.linalg.norm(points_BN2[:, :, None] - points_BN2[:, None], axis=3)
    best_SBM = np.full((1 << others, count, others), np.inf, np.float32)
    before_SBM = np.zeros(best_SBM.shape, np.int8)
    for member in range(others):
        best_SBM[1 << member, :, member] = way_BNN[:, 0, member + 1]
    for subset in range(1, 1 << others):
        members = [member for member in range(others) if subset >> member & 1]
        for member in members if len(members) > 1 else []:
            paths_BM = best_SBM[subset ^ (1 << member)] + way_BNN[:, 1:, member + 1]
            before_SBM[subset, :, member] = paths_BM.argmin(1)
            best_SBM[subset, :, member] = paths_BM.min(1)
    last_B = (best_SBM[-1] + way_BNN[:, 1:, 0]).argmin(1)
    tours_BN = _trace_tours_back(before_SBM, last_B)
    return order_tours_from_leftmost(points_BN2, tours_BN)


def _trace_tours_back(before_SBM: npt.NDArray[np.int8], last_B: IntArray) -> IntArray:
    """Return the tours [B, N] from point 0 to the given last points.

    Args:
        before_SBM: For each subset and last point, the point before it on the shortest path.
        last_B: The last point of each tour before it returns to point 0.
    """
    subsets, count, others = before_SBM.shape
    rows_B, place_B = np.arange(count), last_B
    left_B = np.full(count, subsets - 1)
    tours_BN = np.zeros((count, others + 1), np.int64)
    for step in range(others, 0, -1):
        tours_BN[:, step] = place_B + 1
        previous_B = before_SBM[left_B, rows_B, place_B].astype(np.int64)
        left_B, place_B = left_B ^ (1 << place_B), previous_B
    return tours_BN


def order_tours_from_leftmost(points_BN2: FloatArray, tours_BN: IntArray) -> IntArray:
    """Return the tours counter-clockwise from the leftmost point."""
    found_BN = np.empty_like(tours_BN)
    for row, (points_N2, tour_N) in enumerate(zip(points_BN2, tours_BN, strict=True)):
        forward_N = tour_N if compute_signed_area(points_N2[tour_N]) >= 0 else tour_N[::-1]
        first = int(np.flatnonzero(forward_N == find_leftmost_point(points_N2))[0])
        found_BN[row] = np.roll(forward_N, -first)
    return found_BN


def compute_signed_area(corners_T2: FloatArray) -> float:
    """Return the area of a polygon, negative if its corners run clockwise."""
    x_T, y_T = corners_T2.T
    return float((x_T * np.roll(y_T, -1) - y_T * np.roll(x_T, -1)).sum() / 2)


def measure_tour_length(points_N2: FloatArray, tour: Sequence[int]) -> float:
    """Return the length of a closed tour."""
    places_T2 = points_N2[list(tour)]
    return float(np.linalg.norm(places_T2 - np.roll(places_T2, -1, 0), axis=1).sum())


def order_around_mean(points_BN2: FloatArray) -> IntArray:
    """Return the indices of the points, counter-clockwise by angle around their mean: [B, N].

    The leftmost point comes first. The order of the input does not matter.
    """
    centred_BN2 = points_BN2 - points_BN2.mean(1, keepdims=True)
    angle_BN = np.arctan2(centred_BN2[..., 1], centred_BN2[..., 0])
    first_B = np.array([find_leftmost_point(points_N2) for points_N2 in points_BN2])
    start_B1 = np.take_along_axis(angle_BN, first_B[:, None], 1)
    turned_BN = (angle_BN - start_B1) % (2 * np.pi)
    # The leftmost point must be first even if another point has the same angle.
    np.put_along_axis(turned_BN, first_B[:, None], -1.0, 1)
    order_BN: IntArray = turned_BN.argsort(axis=1, kind="stable")
    return order_BN


def normalise_points(points_BN2: FloatArray) -> FloatArray:
    """Move and scale points so that their mean is 0 and the farthest is at distance 1: [B, N, 2].

    The answers do not change.
    """
    centred_BN2 = points_BN2 - points_BN2.mean(1, keepdims=True)
    farthest_B11 = np.linalg.norm(centred_BN2, axis=2).max(1)[:, None, None]
    scaled_BN2: FloatArray = centred_BN2 / np.maximum(farthest_B11, 1e-9)
    return scaled_BN2

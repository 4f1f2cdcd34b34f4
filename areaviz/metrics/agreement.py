"""Agreement of raters beyond chance, measured by Krippendorff's alpha.

It is implemented here because no light, well-maintained library provides it.

Shapes: R raters, U rated units, V distinct values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# Levels of measurement: values differ or not, have an order, or have distances.
LEVELS = ("nominal", "ordinal", "interval")
Floats = npt.NDArray[np.floating[Any]]


def compute_krippendorff_alpha(ratings_RU: Floats, level: str) -> float:
    """Compute Krippendorff's alpha: 1 for perfect agreement, 0 for agreement by chance.

    alpha = 1 - D_o / D_e. D_o is the disagreement observed within units. D_e is the disagreement
    expected if the values were assigned to units at random (Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability"). There may be any number of raters, and ratings may be
    missing.

    Args:
        ratings_RU: The value that each rater gave to each unit, NaN if it is missing. Nominal
            values are coded as arbitrary numbers.
        level: One of `LEVELS`.

    Returns:
        alpha, or NaN if no unit has two ratings or all values are equal.
    """
    counts_UV, values_V = _count_values(np.asarray(ratings_RU, np.float64))
    if not len(counts_UV) or len(values_V) < 2:
        return float("nan")
    # Count every pair of values within a unit. Each rating of a unit has the same weight.
    each_U = counts_UV.sum(1)
    pairs_VV = (counts_UV / (each_U - 1)[:, None]).T @ counts_UV
    pairs_VV -= np.diag((counts_UV / (each_U - 1)[:, None]).sum(0))
    total_V = pairs_VV.sum(1)
    expected_VV = np.outer(total_V, total_V) / (total_V.sum() - 1)
    distance_VV = _compute_distances(values_V, total_V, level)
    chance = float((expected_VV * distance_VV).sum())
    return 1 - float((pairs_VV * distance_VV).sum()) / chance if chance else float("nan")


def _count_values(ratings_RU: Floats) -> tuple[Floats, Floats]:
    """Count how often each unit got each value, for units with two or more ratings."""
    known_RU = np.isfinite(ratings_RU)
    ratings_RU = ratings_RU[:, known_RU.sum(0) > 1]
    known_RU = np.isfinite(ratings_RU)
    values_V, at = np.unique(ratings_RU[known_RU], return_inverse=True)
    counts_UV = np.zeros((ratings_RU.shape[1], len(values_V)))
    np.add.at(counts_UV, (np.nonzero(known_RU)[1], at), 1)
    return counts_UV, values_V


def _compute_distances(values_V: Floats, total_V: Floats, level: str) -> Floats:
    """Return the squared distance of each pair of values."""
    if level == "nominal":
        return 1.0 - np.eye(len(values_V))
    places_V: Floats = values_V
    if level == "ordinal":
        # The distance of two values is the number of ratings between them, plus half the number of
        # ratings that have one of the two values.
        places_V = np.cumsum(total_V) - total_V / 2
    elif level != "interval":
        raise ValueError(f'"{level}" is not a level of measurement.')
    found: Floats = np.subtract.outer(places_V, places_V) ** 2
    return found

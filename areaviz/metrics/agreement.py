"""How far raters agree, beyond chance: Krippendorff's alpha.

No light, well-kept library is among our dependencies that has it; it is a page of array algebra.
Legend: R raters, U units (what is rated), V different values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

# What can be said of two values: that they differ, their order, or their distance.
LEVELS = ("nominal", "ordinal", "interval")
Floats = npt.NDArray[np.floating[Any]]


def krippendorff_alpha(ratings_RU: Floats, level: str) -> float:
    """Krippendorff's alpha of ratings, at most 1 where all agree, 0 where they agree by chance.

    alpha = 1 - D_o / D_e: the disagreement seen within units over the one expected, had the same
    values been given to units by chance (Krippendorff 2011, "Computing Krippendorff's
    Alpha-Reliability"). It takes any number of raters, and any rating may be missing.

    Args:
        ratings_RU: a value of each rater for each unit, NaN where there is none; of nominal values
            any number stands for each.
        level: one of `LEVELS`.

    Returns:
        alpha; NaN where no unit has two ratings or all values are the same, so that nobody can say.
    """
    counts_UV, values_V = _counted(np.asarray(ratings_RU, np.float64))
    if not len(counts_UV) or len(values_V) < 2:
        return float("nan")
    # Every pair of values within a unit, each unit's pairs sharing the weight of its ratings.
    each_U = counts_UV.sum(1)
    pairs_VV = (counts_UV / (each_U - 1)[:, None]).T @ counts_UV
    pairs_VV -= np.diag((counts_UV / (each_U - 1)[:, None]).sum(0))
    total_V = pairs_VV.sum(1)
    expected_VV = np.outer(total_V, total_V) / (total_V.sum() - 1)
    distance_VV = _distances(values_V, total_V, level)
    chance = float((expected_VV * distance_VV).sum())
    return 1 - float((pairs_VV * distance_VV).sum()) / chance if chance else float("nan")


def _counted(ratings_RU: Floats) -> tuple[Floats, Floats]:
    """How often each unit got each value, for units with two ratings or more; and the values."""
    known_RU = np.isfinite(ratings_RU)
    ratings_RU = ratings_RU[:, known_RU.sum(0) > 1]
    known_RU = np.isfinite(ratings_RU)
    values_V, at = np.unique(ratings_RU[known_RU], return_inverse=True)
    counts_UV = np.zeros((ratings_RU.shape[1], len(values_V)))
    np.add.at(counts_UV, (np.nonzero(known_RU)[1], at), 1)
    return counts_UV, values_V


def _distances(values_V: Floats, total_V: Floats, level: str) -> Floats:
    """The squared difference of every two values."""
    if level == "nominal":
        return 1.0 - np.eye(len(values_V))
    places_V: Floats = values_V
    if level == "ordinal":
        # Between two values lie the ratings in between, and half of those with either value.
        places_V = np.cumsum(total_V) - total_V / 2
    elif level != "interval":
        raise ValueError(f'"{level}" is no level of measurement.')
    found: Floats = np.subtract.outer(places_V, places_V) ** 2
    return found

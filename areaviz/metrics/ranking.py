"""Average precision, which measures how well scores rank examples with a label above others."""

from __future__ import annotations

from math import nan

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]


def mean_average_precision(scores_NK: FloatArray, labels_NK: FloatArray) -> float:
    """Return the mean over K labels of the average precision over N examples, 0..1.

    Labels that never occur are left out. Without any label the result is NaN. Average precision is
    the mean, over the examples that have the label (1, otherwise 0), of the precision among all
    examples with an equal or higher score. Equal scores therefore give the label's frequency, in
    any order of the examples.
    """
    order_NK = np.argsort(-scores_NK, axis=0, kind="stable")
    ranked_NK = np.take_along_axis(labels_NK, order_NK, 0)
    last_NK = _find_last_of_equals(np.take_along_axis(scores_NK, order_NK, 0))
    precision_NK = np.take_along_axis(ranked_NK.cumsum(0), last_NK, 0) / (last_NK + 1)
    count_K = ranked_NK.sum(0)
    occurs_K = count_K > 0
    if not occurs_K.any():
        return nan
    average_K = (precision_NK * ranked_NK).sum(0)[occurs_K] / count_K[occurs_K]
    return float(average_K.mean())


def _find_last_of_equals(ranked_NK: FloatArray) -> IntArray:
    """Return, for each rank, the last rank with an equal score: [N, K]."""
    count = len(ranked_NK)
    ends_NK = np.ones(ranked_NK.shape, dtype=bool)
    ends_NK[:-1] = ranked_NK[1:] != ranked_NK[:-1]
    rank_NK = np.where(ends_NK, np.arange(count)[:, None], count)
    last_NK: IntArray = np.minimum.accumulate(rank_NK[::-1], 0)[::-1]
    return last_NK

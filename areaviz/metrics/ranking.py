"""Average precision: how well scores rank what is there above what is not."""

from __future__ import annotations

from math import nan

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]


def mean_average_precision(scores_NK: FloatArray, labels_NK: FloatArray) -> float:
    """The mean over K labels of the average precision over N examples, 0..1; labels that never
    occur are left out.

    Average precision is the mean, over the examples that have the label (1, else 0), of the
    precision among all examples that score as high or higher. So scores that are all the same give
    the label's share, in whatever order examples come. NaN when no label occurs.
    """
    order_NK = np.argsort(-scores_NK, axis=0, kind="stable")
    ranked_NK = np.take_along_axis(labels_NK, order_NK, 0)
    last_NK = _last_of_equals(np.take_along_axis(scores_NK, order_NK, 0))
    precision_NK = np.take_along_axis(ranked_NK.cumsum(0), last_NK, 0) / (last_NK + 1)
    count_K = ranked_NK.sum(0)
    average_K = (precision_NK * ranked_NK).sum(0)[count_K > 0] / count_K[count_K > 0]
    return float(average_K.mean()) if average_K.size else nan


def _last_of_equals(ranked_NK: FloatArray) -> IntArray:
    """For each rank the last rank with the same score: [N, K]."""
    rank_N1 = np.arange(len(ranked_NK))[:, None]
    ends_NK = np.ones(ranked_NK.shape, dtype=bool)
    ends_NK[:-1] = ranked_NK[1:] != ranked_NK[:-1]
    last_NK: IntArray = np.minimum.accumulate(np.where(ends_NK, rank_N1, len(ranked_NK))[::-1], 0)[
        ::-1
    ]
    return last_NK

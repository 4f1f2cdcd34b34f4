"""Sets of points in the form that a pointer network reads.

Shapes: B sets, N points, T steps with the closing one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.samples.reasoning import PointSets, normalise_points, order_around_mean


@dataclass(frozen=True, slots=True)
class PointBatch:
    """A batch of point sets in the form that the network reads."""

    # [B, N, 2], in reading order.
    points_BN2: Tensor
    # int64 [B, T]. Each answer ends with its first point, and the entries after it are -1.
    answers_BT: Tensor


def make_point_batch(sets: PointSets, device: torch.device) -> PointBatch:
    """Return the sets in reading order, with the closing step of every answer."""
    points_BN2, answers_BT = arrange_for_reading(sets)
    points = torch.from_numpy(points_BN2.astype(np.float32)).to(device)
    return PointBatch(points, torch.from_numpy(answers_BT).to(device))


def arrange_for_reading(
    sets: PointSets,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Sort normalised points by their angle around the mean, and renumber the closed answers.

    Returns:
        The points [B, N, 2] and the answers [B, N + 1].
    """
    order_BN = order_around_mean(sets.points)
    points_BN2 = np.take_along_axis(normalise_points(sets.points), order_BN[..., None], 1)
    place_BN = order_BN.argsort(1)
    answers_BN = np.take_along_axis(place_BN, np.maximum(sets.answers, 0), 1)
    answers_BN[sets.answers < 0] = -1
    closed_BT = np.pad(answers_BN, ((0, 0), (0, 1)), constant_values=-1)
    rows_B, lengths_B = np.arange(len(sets)), (sets.answers >= 0).sum(1)
    closed_BT[rows_B, lengths_B] = closed_BT[:, 0]
    return points_BN2, closed_BT

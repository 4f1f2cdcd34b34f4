"""Sets of points as a pointer network reads them.

Shapes: B sets, N points, T steps with the closing one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.data.points import PointSets, around, normalised


@dataclass(frozen=True, slots=True)
class PointBatch:
    """Sets as the network reads them."""

    # [B, N, 2], in the order they are read in
    points_BN2: Tensor
    # int64 [B, T], ends with the first point, -1 behind
    answers_BT: Tensor


def point_batch(sets: PointSets, device: torch.device) -> PointBatch:
    """Sets in the order a network reads them, with the closing step of every answer."""
    points_BN2, answers_BT = as_read(sets)
    points = torch.from_numpy(points_BN2.astype(np.float32)).to(device)
    return PointBatch(points, torch.from_numpy(answers_BT).to(device))


def as_read(
    sets: PointSets,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Normalised points around their mean, and answers in their numbers, closed: [B, N + 1]."""
    order_BN = around(sets.points)
    points_BN2 = np.take_along_axis(normalised(sets.points), order_BN[..., None], 1)
    place_BN = order_BN.argsort(1)
    answers_BN = np.take_along_axis(place_BN, np.maximum(sets.answers, 0), 1)
    answers_BN[sets.answers < 0] = -1
    closed_BT = np.pad(answers_BN, ((0, 0), (0, 1)), constant_values=-1)
    rows_B, lengths_B = np.arange(len(sets)), (sets.answers >= 0).sum(1)
    closed_BT[rows_B, lengths_B] = closed_BT[:, 0]
    return points_BN2, closed_BT

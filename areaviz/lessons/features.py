"""The richer key of an area from mean, standard deviation and shape (Eq. 5 to 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, select_items
from areaviz.trace.areas import Area, AreaGrid

MEMORY_HWD: Floats = np.array([[[1.0, 2], [3, 1], [2, 4]], [[0, 1], [5, 3], [4, 2]]])
GRID = AreaGrid(2, 3, 2, 3)
HEIGHTS: Floats = np.array([[0.5, 0.0], [1.0, -0.5]])
WIDTHS: Floats = np.array([[0.0, 0.5], [0.5, 0.5], [1.0, 0.0]])
W_MEAN: Floats = np.array([[1.0, 1.0], [0.0, -1.0]])
W_DEVIATION: Floats = np.array([[0.5, -1.0], [0.5, 0.0]])
W_SHAPE: Floats = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0], [0.0, 0.5]])
W_OUT: Floats = np.array([[0.5, 0.0], [-0.5, 1.0]])
"""Weights of the richer key, invented for this question. A model learns such weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """The key of an area with all intermediate vectors.

    Args:
        mean, deviation, shape: the features of the area.
        hidden: the sum of the features times their weights.
        active: `hidden` after the ReLU.
        key: the key, to which queries are compared.
    """

    mean: Floats
    deviation: Floats
    shape: Floats
    hidden: Floats
    active: Floats
    key: Floats


def compute_key(area: Area) -> Key:
    """Compute the richer key of one area of the memory (Eq. 5 to 9, Li et al. 2019)."""
    items = select_items(MEMORY_HWD, area)
    mean = items.mean(0)
    deviation = items.std(0)
    shape = np.concatenate([HEIGHTS[area.height - 1], WIDTHS[area.width - 1]])
    hidden = mean @ W_MEAN + deviation @ W_DEVIATION + shape @ W_SHAPE
    # The ReLU.
    active = np.maximum(hidden, 0)
    return Key(mean, deviation, shape, hidden, active, active @ W_OUT)

"""A richer key, from mean, standard deviation and shape (Eq. 5 to 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, items_of
from areaviz.trace.areas import Area, AreaGrid

MEMORY_HWD: Floats = np.array([[[1.0, 2], [3, 1], [2, 4]], [[0, 1], [5, 3], [4, 2]]])
GRID = AreaGrid(2, 3, 2, 3)
HEIGHTS: Floats = np.array([[0.5, 0.0], [1.0, -0.5]])
WIDTHS: Floats = np.array([[0.0, 0.5], [0.5, 0.5], [1.0, 0.0]])
W_MEAN: Floats = np.array([[1.0, 1.0], [0.0, -1.0]])
W_DEVIATION: Floats = np.array([[0.5, -1.0], [0.5, 0.0]])
W_SHAPE: Floats = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, -1.0], [0.0, 0.5]])
W_OUT: Floats = np.array([[0.5, 0.0], [-0.5, 1.0]])
"""Weights made up for this page and small enough to follow; a model learns its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """Everything between the items of an area and its key: each a vector.

    Args:
        mean, deviation, shape: the features.
        hidden: the sum of the features times their weights.
        active: `hidden` after the ReLU.
        key: what a query is compared with.
    """

    mean: Floats
    deviation: Floats
    shape: Floats
    hidden: Floats
    active: Floats
    key: Floats


def key_of(area: Area) -> Key:
    """Eq. 5 to 9 (Li et al. 2019) for one area of the memory."""
    items = items_of(MEMORY_HWD, area)
    mean = items.mean(0)
    deviation = items.std(0)
    shape = np.concatenate([HEIGHTS[area.height - 1], WIDTHS[area.width - 1]])
    hidden = mean @ W_MEAN + deviation @ W_DEVIATION + shape @ W_SHAPE
    # The ReLU.
    active = np.maximum(hidden, 0)
    return Key(mean, deviation, shape, hidden, active, active @ W_OUT)

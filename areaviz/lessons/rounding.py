"""The rounding errors of standard deviations by the summed area table, and by merging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, area_deviations, table_variances
from areaviz.trace.areas import AreaGrid

MEANS = (0, 1, 3, 10, 30, 100, 300, 1000)
GRID = AreaGrid(1, 256, 1, 5)
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """The standard deviation of every area three ways: each [A].

    Args:
        exact: in float64.
        table: from the table, in float32.
        merged: by merging, in float32.
        negative: how many of the table's variances came out below zero (drawn as 0), of areas of
            two items and more: a single item has none, so its sign is chance.
    """

    exact: Floats
    table: Floats
    merged: Floats
    negative: int

    @property
    def table_error(self) -> float:
        """Largest error of the table's standard deviation."""
        return float(np.abs(self.table - self.exact).max())

    @property
    def merged_error(self) -> float:
        """Largest error of the merged standard deviation."""
        return float(np.abs(self.merged - self.exact).max())


def measure(mean: float) -> Rounding:
    """Draw N(mean, 1) numbers, take every area's deviation with and without the table."""
    # float32 as in a model; the exact values are those of the same numbers in float64.
    x_HWD = np.random.default_rng(SEED).normal(mean, 1, (1, GRID.width, 1)).astype(np.float32)
    variances = table_variances(x_HWD, GRID)[:, 0]
    return Rounding(
        exact=area_deviations(x_HWD.astype(np.float64), GRID)[:, 0],
        table=np.sqrt(np.maximum(variances, 0)),
        merged=area_deviations(x_HWD, GRID)[:, 0],
        negative=int((variances[GRID.items :] < 0).sum()),
    )

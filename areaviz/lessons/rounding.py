"""Rounding errors of standard deviations from the summed area table and from merging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.lessons.arithmetic import Floats, compute_area_deviations, compute_variances_by_table
from areaviz.trace.areas import AreaGrid

MEANS = (0, 1, 3, 10, 30, 100, 300, 1000)
GRID = AreaGrid(1, 256, 1, 5)
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """The standard deviation of every area, computed in three ways, each [A].

    Args:
        exact: by merging, in float64.
        table: from the summed area table, in float32. Negative variances count as 0.
        merged: by merging, in float32.
        negative: the number of areas whose variance from the table is negative. Single items are
            not counted, because their variance is 0 and only rounding gives it a sign.
    """

    exact: Floats
    table: Floats
    merged: Floats
    negative: int

    @property
    def table_error(self) -> float:
        """The largest absolute error of the standard deviations from the table."""
        return float(np.abs(self.table - self.exact).max())

    @property
    def merged_error(self) -> float:
        """The largest absolute error of the merged standard deviations."""
        return float(np.abs(self.merged - self.exact).max())


def measure_rounding(mean: float) -> Rounding:
    """Draw normal numbers with this mean and deviation 1, and compute every area's deviation."""
    # The numbers are float32 as in a model. The exact values are computed from them in float64.
    x_HWD = np.random.default_rng(SEED).normal(mean, 1, (1, GRID.width, 1)).astype(np.float32)
    variances = compute_variances_by_table(x_HWD, GRID)[:, 0]
    return Rounding(
        exact=compute_area_deviations(x_HWD.astype(np.float64), GRID)[:, 0],
        table=np.sqrt(np.maximum(variances, 0)),
        merged=compute_area_deviations(x_HWD, GRID)[:, 0],
        negative=int((variances[GRID.items :] < 0).sum()),
    )

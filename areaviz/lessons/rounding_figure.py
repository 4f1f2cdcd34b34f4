"""Lesson 5: why the table is for teaching: its standard deviation drowns in rounding errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, area_deviations, table_variances
from areaviz.lessons.axes import axes_layout, dots
from areaviz.lessons.board import BLUE, GREY, VERMILION
from areaviz.trace.areas import AreaGrid

MEANS = (0, 1, 3, 10, 30, 100, 300, 1000)
GRID = AreaGrid(1, 256, 1, 5)
SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """Standard deviation of every area three ways: exact in float64, the other two in float32, each
    [A].

    negative: how many of the table's variances came out below zero (drawn as 0).
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
    """Draw N(mean, 1) numbers, take the standard deviation of every area with and without the
    table.
    """
    x_HWD = np.random.default_rng(SEED).normal(mean, 1, (1, GRID.width, 1)).astype(np.float32)
    variances = table_variances(x_HWD, GRID)[:, 0]
    exact = area_deviations(x_HWD.astype(np.float64), GRID)[:, 0]
    merged = area_deviations(x_HWD, GRID)[:, 0]
    return Rounding(exact, np.sqrt(np.maximum(variances, 0)), merged, int((variances < 0).sum()))


def figure(found: Rounding) -> Figure:
    """Is the computed standard deviation the true one? A dot an area; right answers lie on the
    diagonal.
    """
    reach = float(found.exact.max()) * 1.05
    top = max(float(found.table.max()) * 1.05, reach)
    diagonal: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "x": [0, reach],
        "y": [0, reach],
        "hoverinfo": "skip",
    }
    diagonal |= {"line": {"color": GREY, "width": 1, "dash": "dot"}, "name": "no error"}
    table = dots(found.exact, found.table, "table", VERMILION, 5, opacity=0.55)
    merged = dots(found.exact, found.merged, "merge", BLUE, 5, opacity=0.55)
    layout = axes_layout(300, "true standard deviation", "computed in float32")
    layout["xaxis"] |= {"range": [-0.03 * reach, reach]}
    layout["yaxis"] |= {"range": [-0.03 * top, top]}
    return Figure(data=[diagonal, table, merged], layout=layout)


def table() -> Table:
    """Largest error of either way for every mean."""
    rows = []
    for mean in MEANS:
        found = measure(mean)
        rows.append((mean, f"{found.table_error:.1e}", found.negative, f"{found.merged_error:.1e}"))
    return Table(
        ("Mean", "Table: largest error", "Table: negative variances", "Merge: largest error"), rows
    )

"""Lesson 10: why the tool itself does not use the table, whose rounding errors grow large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, area_deviations, table_variances
from areaviz.lessons.page_parts import as_table, columns, controls, picture
from areaviz.lessons.pictures import BLUE, GREY, VERMILION, axes_layout, dots, lines
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


@st.fragment
def show() -> None:
    """The table's standard deviation against the merged one, for a mean of the reader's choice."""
    left, right = columns()
    with left:
        mean = st.select_slider("Mean of the numbers", MEANS, value=100, key="rounding-mean")
        found = measure(mean)
        question = (
            "Is the computed standard deviation the true one? One dot an area; right answers lie on"
            " the diagonal."
        )
        picture(figure(found), "rounding", question)
    with right:
        st.markdown(
            f"We draw {GRID.width} numbers around the chosen mean, with standard deviation 1,"
            f" and take the standard deviation of each of the {GRID.count:,} areas of up to"
            f" {GRID.max_width} of them. A computer keeps about seven digits (float32). The"
            " table's entries grow large, the answer is the small difference of large numbers, and"
            " the digits are lost: move the mean up."
        )
        one, two = controls("rounding", 2)
        one.metric("Table: largest error", f"{found.table_error:.1g}")
        two.metric("Merge: largest error", f"{found.merged_error:.1g}")
        st.markdown(
            f"Of areas of two items and more the table gives {found.negative:,} negative variances"
            " here, which have no root (drawn as 0). This tool therefore **grows** areas: a sum is"
            " the sum of the area one item smaller plus that item, one addition and no difference;"
            " a standard deviation is merged from two parts (Chan's formula), so it is never"
            " negative."
        )
        as_table(table(), "rounding")


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


def figure(found: Rounding) -> Figure:
    """Is the computed standard deviation the true one? A dot an area, truth on the diagonal."""
    reach = float(found.exact.max()) * 1.05
    top = max(float(found.table.max()) * 1.05, reach)
    diagonal = lines([0, reach], [0, reach], GREY, 1, name="no error", hoverinfo="skip")
    diagonal["line"]["dash"] = "dot"
    table = dots(found.exact, found.table, "table", VERMILION, 5, opacity=0.55)
    merged = dots(found.exact, found.merged, "merge", BLUE, 5, opacity=0.55)
    layout = axes_layout(300, "true standard deviation", "computed in float32")
    layout["xaxis"]["range"] = [-0.03 * reach, reach]
    layout["yaxis"]["range"] = [-0.03 * top, top]
    return Figure(data=[diagonal, table, merged], layout=layout)


def table() -> Table:
    """Largest error of either way for every mean."""
    rows = []
    for mean in MEANS:
        found = measure(mean)
        rows.append((mean, f"{found.table_error:.1e}", found.negative, f"{found.merged_error:.1e}"))
    names = ("Mean", "Table: largest error", "Table: negative variances", "Merge: largest error")
    return Table(names, rows)

"""Lesson 5: why the tool itself does not use the table."""

from __future__ import annotations

import streamlit as st

from areaviz.lessons import rounding_figure as view
from areaviz.lessons.frame import as_table, columns, controls, picture


@st.fragment
def show() -> None:
    """The table's standard deviation against the merged one, for numbers of a mean of the reader's
    choice.
    """
    left, right = columns()
    with left:
        mean = st.select_slider("Mean of the numbers", view.MEANS, value=100, key="rounding-mean")
        found = view.measure(mean)
        question = (
            "Is the computed standard deviation the true one? One dot an area; right answers lie on"
            " the diagonal."
        )
        picture(view.figure(found), "rounding", question)
    with right:
        st.markdown(
            f"We draw {view.GRID.width} numbers around the chosen mean, with standard deviation 1,"
            f" and take the standard deviation of each of the {view.GRID.count:,} areas of up to"
            f" {view.GRID.max_width} of them. A computer keeps about seven digits (float32). The"
            " table's entries grow large, the answer is the small difference of large numbers, and"
            " the digits are lost: move the mean up."
        )
        one, two = controls("rounding", 2)
        one.metric("Table: largest error", f"{found.table_error:.1g}")
        two.metric("Merge: largest error", f"{found.merged_error:.1g}")
        st.markdown(
            f"The table gives {found.negative:,} negative variances here, which have no root (drawn"
            " as 0). This tool therefore **grows** areas: a sum is the sum of the area one item"
            " smaller plus that item, one addition and no difference; a standard deviation is"
            " merged from two parts (Chan's formula), so it is never negative."
        )
        as_table(view.table(), "rounding")

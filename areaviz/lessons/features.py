"""Lesson 7: a richer key from mean, deviation and shape (Eq. 5 to 9)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.lessons import features_figure as view
from areaviz.lessons.choose import grow_to, pick_area
from areaviz.lessons.frame import as_table, columns, picture
from areaviz.trace.areas import Area


@st.fragment
def show() -> None:
    """Every number between the items of the chosen area and its key."""
    left, right = columns()
    with right:
        st.markdown(
            "Two areas with the same mean look alike to a mean key. Eq. 9 tells them apart: it also"
            " looks at the **standard deviation** σ of the items and at the **shape** of the area,"
            " whose height and width each have a learned vector (Eq. 6 to 8). A layer with a ReLU φ"
            " combines the three."
        )
        st.latex(r"k = \phi(\mu W_\mu + \sigma W_\sigma + e\,W_e)\,W_d")
        st.caption("A model learns the weights. These were made up for this page and kept small.")
        with st.popover("Show the weights"):
            st.latex(view.weights_equation())
    with left:
        chosen = pick_area("features", view.GRID, Area(0, 1, 2, 2))
        question = "Which items does the key describe? A grid of six items, those of the area lit."
        picture(
            view.memory_figure(chosen),
            "features-memory",
            question,
            partial(grow_to, "features", view.GRID),
        )
        st.caption("Click an item: the area grows to it, or starts there.")
    question = (
        "How do mean, deviation and shape become one key? Features on the left, the key on the"
        " right."
    )
    picture(view.figure(chosen), "features", question)
    st.latex(view.equations(chosen))
    as_table(view.table(), "features")

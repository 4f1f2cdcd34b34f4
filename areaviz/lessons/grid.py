"""Lesson 2: areas of a grid (Fig. 2)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.lessons import grid_figure as view
from areaviz.lessons.choose import choose, pick_area
from areaviz.lessons.frame import as_table, columns, controls, picture
from areaviz.trace.areas import Area, AreaGrid


@st.fragment
def show() -> None:
    """All rectangles as small pictures, with sliders for the grid and the largest area."""
    left, right = columns()
    with left:
        grid = _sizes()
        chosen = pick_area("grid", grid, Area(1, 0, 2, 2))
        question = (
            "Which rectangles does a grid have? One small grid for each, in rows by height, in"
            " columns by width."
        )
        picture(view.figure(grid, chosen), "grid", question, partial(choose, "grid", grid))
    with right:
        st.markdown(
            "In an image the memory is a grid of items and an area is a rectangle of them. Each"
            " small grid on the left is one area. Those in one **row** span the same rows of the"
            " memory; those in one **column** span the same columns. Every vertical run meets every"
            " horizontal one, so the counts multiply."
        )
        st.latex(view.count_equation(grid))
        st.markdown(f"The chosen area, **{view.describe(chosen)}**, in the memory:")
        picture(
            view.closeup(grid, chosen),
            "grid-closeup",
            "Where does the chosen rectangle lie in the grid?",
        )
        as_table(view.table(grid), "grid")


def _sizes() -> AreaGrid:
    one, two = controls("grid", 2)
    height = one.slider("Height of the grid", 2, 5, 3, key="grid-height")
    width = two.slider("Width of the grid", 2, 5, 3, key="grid-width")
    tallest = one.slider("Largest height of an area, H", 1, 4, 2, key="grid-tallest")
    widest = two.slider("Largest width of an area, W", 1, 4, 2, key="grid-widest")
    return AreaGrid.clamped((height, width), (tallest, widest))

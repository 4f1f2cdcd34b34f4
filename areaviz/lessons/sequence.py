"""Lesson 1: areas of a sequence (Fig. 1)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.lessons import sequence_figure as view
from areaviz.lessons.choose import choose, pick_area
from areaviz.lessons.frame import as_table, columns, controls, picture
from areaviz.trace.areas import Area, AreaGrid


@st.fragment
def show() -> None:
    """A staircase of all spans, with sliders for the length and the largest area."""
    left, right = columns()
    with left:
        grid = _sizes()
        chosen = pick_area("sequence", grid, Area(0, 1, 1, 2))
        question = (
            "Which areas does a sequence have? A staircase with one cell for every start and"
            " length."
        )
        picture(view.figure(grid, chosen), "sequence", question, partial(choose, "sequence", grid))
    with right:
        _words(grid, chosen)
        as_table(view.table(grid), "sequence")


def _sizes() -> AreaGrid:
    one, two = controls("sequence", 2)
    length = one.slider("Length of the sequence, L", 2, 12, 4, key="sequence-length")
    size = two.slider("Largest area, S", 1, 12, 3, key="sequence-size")
    return AreaGrid.clamped((1, length), (1, size))


def _words(grid: AreaGrid, chosen: Area) -> None:
    st.markdown(
        "What a model can attend to is its **memory**: a row of items, here numbered. Regular"
        " attention gives each *item* a weight. Area attention also gives weights to runs of"
        " neighbouring items, the **areas**. Every cell of the staircase is one area. Click a cell"
        " and the items it holds light up below."
    )
    st.markdown(f"The chosen area holds **{view.describe(chosen)}**.")
    st.markdown(
        "How many areas are there? :blue[The first L − S starts] have room for all S lengths: a"
        " block. :green[The last S starts] run out of room one by one: a stair."
    )
    st.latex(view.count_equation(grid))
    if st.session_state["sequence-size"] > grid.width:
        st.caption(f"S was cut to {grid.width}: an area cannot be longer than the sequence.")

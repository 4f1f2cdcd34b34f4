"""Lesson 4: the summed area table, step by step (Algorithm 1)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.lessons import summed_table_figure as view
from areaviz.lessons.choose import pick_area, reach_to
from areaviz.lessons.frame import as_table, columns, picture
from areaviz.trace.areas import Area

_WORDS = (
    (
        "Adding up the items of every area again and again repeats most of the work. The papers"
        " build one table instead, in which the sum of any rectangle takes four numbers. We start"
        " with the memory itself."
    ),
    "**Add along each row**, from left to right: an entry is now the sum of its row up to there.",
    (
        "**Then add down each column**: an entry is now the sum of the whole rectangle from the top"
        " left corner of the memory to there."
    ),
    (
        "**Put zeros** above and to the left, so that areas at the border have four corners too."
        " Row 0 and column 0 stand for the sum of nothing."
    ),
    (
        "**Four corners** give the sum of any area. $\\textcolor{#0072B2}{I_1}$ sums all up to its"
        " lower right end. Take away what lies left of the area, $\\textcolor{#D55E00}{I_3}$, and"
        " what lies above it, $\\textcolor{#CC79A7}{I_4}$. What is both left and above went twice,"
        " so put it back: $\\textcolor{#009E73}{I_2}$."
    ),
)


@st.fragment
def show() -> None:
    """Five steps from the numbers to the four corners, for an area of the reader's choice."""
    names = {f"{number}. {name}": number - 1 for number, name in enumerate(view.STEPS, start=1)}
    step = names[
        st.segmented_control(
            "Step", list(names), default=list(names)[-1], required=True, key="table-step"
        )
    ]
    left, right = columns()
    with left:
        chosen = pick_area("table", view.grid(), Area(1, 1, 2, 2))
        question = (
            "What does one entry of the table sum? The memory on the left, the table so far on the"
            " right."
        )
        reach = partial(reach_to, "table", view.MEMORY.shape[1])
        picture(view.figure(step, chosen), "table", question, reach)
        st.caption("Click an entry of the table: the area reaches to it.")
    with right:
        st.markdown(_WORDS[step])
        _numbers(step, chosen)
        as_table(view.table(step), "table")


def _numbers(step: int, chosen: Area) -> None:
    if step in (1, 2, 3):
        st.markdown(
            "The lit entry, from the numbers of the step before:"
            if step < 3
            else "The lit entry is still"
        )
        st.latex(view.entry_equation(step, chosen))
    if step == 4:
        st.latex(view.corners_equation(chosen))
        st.markdown(
            f"Adding the {chosen.size} lit items one by one would take {chosen.size - 1}"
            f" addition{'' if chosen.size == 2 else 's'}; the table takes three, however large the"
            " area is."
        )

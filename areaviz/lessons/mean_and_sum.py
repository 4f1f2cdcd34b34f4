"""Lesson 3: mean and sum of a chosen area (Eq. 3, 4, 5)."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.lessons import mean_and_sum_figure as view
from areaviz.lessons.choose import grow_to, pick_area
from areaviz.lessons.frame import as_table, columns, picture
from areaviz.trace.areas import Area


@st.fragment
def show() -> None:
    """Mean key, sum value and standard deviation of the chosen area, with its numbers."""
    left, right = columns()
    with left:
        name = st.segmented_control(
            "Memory", list(view.MEMORIES), default=next(iter(view.MEMORIES)), required=True
        )
        memory_HWD = view.MEMORIES[name]
        key, grid = f"mean-{list(view.MEMORIES).index(name)}", view.areas(memory_HWD)
        chosen = pick_area(key, grid, Area(0, 1, min(2, grid.height), 2))
        question = (
            "Which numbers does the chosen area hold? The memory with the items of the area lit."
        )
        picture(view.figure(memory_HWD, chosen), key, question, partial(grow_to, key, grid))
        st.caption("Click an item: the area grows to it, or starts there.")
        as_table(view.table(memory_HWD), key)
    with right:
        st.markdown(
            "A query is compared with a **key** and, if they match, gets a **value**. What are the"
            " key and the value of several items together? The simplest answer has nothing to"
            " learn: the key is the **mean** of the keys (Eq. 3) and the value is the **sum** of"
            " the values (Eq. 4). Here keys and values are the same numbers, to keep the arithmetic"
            " short."
        )
        st.latex(view.mean_equation(memory_HWD, chosen))
        st.latex(view.sum_equation(memory_HWD, chosen))
        st.markdown(
            "How unlike the items are, their **standard deviation** (Eq. 5), can enrich the key:"
            " see lesson 7."
        )
        st.latex(view.deviation_equation(memory_HWD, chosen))

"""Lesson 6: from a query to the output (Eq. 1 and 2 over areas)."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from areaviz.lessons import attention_figure as view
from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.choose import choose, pick_area
from areaviz.lessons.frame import as_table, columns, controls, picture
from areaviz.lessons.sequence_figure import describe
from areaviz.trace.areas import Area


@st.fragment
def show() -> None:
    """Weights of all areas, coverage of the items, and the output, for a query of the reader's
    choice.
    """
    left, right = columns()
    with left:
        found = view.attend(*_query())
        chosen = pick_area("attention", found.grid, Area(0, 2, 1, 2))
        question = (
            "How much weight does each area get? Its weight in its cell, what the items receive"
            " below."
        )
        picture(
            view.figure(found, chosen),
            "attention",
            question,
            partial(choose, "attention", found.grid),
        )
        st.caption("The more weight, the stronger the blue. Orange: the chosen area and its items.")
        as_table(view.table(found), "attention")
    with right:
        st.markdown(
            "Four items, each with a key and a value of two numbers. The query is multiplied with"
            " the mean key of every area (the **logit**); the softmax turns all logits into weights"
            " that sum to 1. For the chosen area:"
        )
        st.latex(view.logit_equation(found, chosen))
        st.markdown(_coverage_words(found))
        st.markdown(_heaviest_words(found))
        st.markdown("The **output** is every item's value times its coverage:")
        st.latex(view.output_equation(found))
    below, beside = columns()
    with below:
        question = (
            "Can the output be a mixture of the values? The values of the items and the output in a"
            " plane."
        )
        picture(view.plane(found), "plane", question)
    with beside:
        st.markdown(_mixture_words(found))
        as_table(view.items_table(found), "plane")


def _query() -> tuple[Floats, int]:
    one, two, three = controls("attention", 3)
    first = one.slider("Query, first number", -2.0, 2.0, 1.0, 0.5, key="attention-first")
    second = two.slider("Query, second number", -2.0, 2.0, 0.0, 0.5, key="attention-second")
    size = three.slider("Largest area, S", 1, 4, 3, key="attention-size")
    return np.array([first, second]), size


def _coverage_words(found: view.Attention) -> str:
    total = float(found.coverage.sum())
    return (
        "An item receives the weight of every area that holds it: its **coverage** (green). The"
        f" coverage sums to **{total:.3f}**, the mean size of the attended areas"
        + (", because every area is one item." if found.grid.max_width == 1 else ", not to 1.")
    )


def _heaviest_words(found: view.Attention) -> str:
    area, weight = view.heaviest(found)
    words = (
        f"The heaviest area is {describe(area)}, with {weight:.3f}. It is **always a single item**:"
        " a mean is never above the largest of what it is the mean of, so no area outweighs its"
        " best item."
    )
    if found.grid.max_width == 1:
        return words
    several, share = view.heaviest(found, 2)
    return (
        f"{words} The larger areas count by their number and by what they hold together; the"
        f" heaviest of them is {describe(several)}, with {share:.3f}. That is why the other pages"
        " can leave out single items."
    )


def _mixture_words(found: view.Attention) -> str:
    if found.grid.max_width == 1:
        return (
            "With S = 1 this **is** regular attention: the coverage is the attention weight, and"
            " the output is a mixture of the values, somewhere on the grey line."
        )
    return (
        "Values of an area are *sums*, so the output leaves the grey line of mixtures: attending to"
        " three items at once brings three values. Move S to 1 to see regular attention, where the"
        " output stays on the line."
    )

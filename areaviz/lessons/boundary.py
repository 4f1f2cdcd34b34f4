"""Lesson 8: a key that knows where an area begins and ends, and why mean keys never put a span on
top.
"""

from __future__ import annotations

import streamlit as st

from areaviz.lessons import boundary_figure as view
from areaviz.lessons.frame import as_table, columns, controls, picture


@st.fragment
def show() -> None:
    """The weights of all areas of four words, for a size bias and two scores of the reader's
    choice.
    """
    bias, start, end = _scores()
    found = view.attend(bias, start, end)
    left, right = columns()
    with left:
        question = (
            "Which area is the heaviest? Every area's weight in its cell, the heaviest outlined in"
            " orange."
        )
        picture(view.figure(found), "boundary", question)
        st.markdown(_verdict(found))
        question = (
            "What are the logits of the best item and the best span made of? Their parts side by"
            " side."
        )
        picture(view.parts_figure(found), "boundary-parts", question)
        as_table(view.table(found), "boundary")
    with right:
        st.markdown(
            "**Why mean keys never can.** With a mean key, the logit of an area is the mean of its"
            " items' logits, and a mean is never above the largest of what it is the mean of:"
        )
        st.latex(r"q\cdot\tfrac{1}{n}(k_1 + \dots + k_n) \;\le\; \max_i\; q\cdot k_i")
        st.markdown(
            "So the heaviest area is always a single item. A span can only win if its logit gets"
            " something that its items do not have. Two ways are shown here:\n- a **size bias**: a"
            " number for each size, learned for every head;\n- **boundary keys**: every item also"
            " says how well an area *begins* with it and how well one *ends* with it. Models of"
            " this project learn both from the item's key, with a vector for the area's shape."
        )
        st.latex(
            r"\begin{aligned}&q\cdot\mu + q\cdot\mathrm{start}(k_\mathrm{first}) \\ "
            r"&+ q\cdot\mathrm{end}(k_\mathrm{last}) + q\cdot e\end{aligned}"
        )
        st.markdown("The best item and the best span, with your numbers:")
        for items in (1, 2):
            st.latex(view.sum_equation(found, view.heaviest(found, items)))


def _scores() -> tuple[float, float, float]:
    one, two, three = controls("boundary", 3)
    bias = one.slider("Size bias for each further item", -1.0, 1.0, 0.0, 0.1, key="boundary-bias")
    start = two.slider("Start score of “young”", -1.0, 1.0, 0.0, 0.1, key="boundary-start")
    end = three.slider("End score of “child”", -1.0, 1.0, 0.0, 0.1, key="boundary-end")
    return bias, start, end


def _verdict(found: view.Boundary) -> str:
    number = view.heaviest(found)
    area, weight = view.GRID.area(number), float(found.weights[number])
    words = f"The heaviest area is **{view.words_of(area)}**, with {weight:.3f}."
    if area.width == 1:
        return f"{words} It is a single item: move a slider to the right until a span overtakes it."
    return f"{words} A span of {area.width} items outweighs each of its items."

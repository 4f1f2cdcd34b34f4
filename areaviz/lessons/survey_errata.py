"""The part of lesson 13 that is the survey's (Wang and Tax 2016): two misprints of its equations.

Shapes: U x V pixels of a picture; M glimpses, K items, S = K^M ways to glimpse.
"""

from __future__ import annotations

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats
from areaviz.lessons.hard_numbers import REWARDS, RIGHT, SCORES, Choice
from areaviz.lessons.page_parts import columns, controls, picture
from areaviz.lessons.pictures import versions_figure

CHOICE = Choice(SCORES["Even"], REWARDS["Right or wrong"])
MOST_GLIMPSES = 5


def show() -> Table:
    """Both misprints for numbers of the reader's choice, which the table returned is for."""
    height, width = _sampling()
    return table(height, width, _glimpses())


def _sampling() -> tuple[int, int]:
    """Eq. 31 and 32."""
    st.markdown(
        "### Eq. 31 and 32 count rows by the width", help="The survey (Wang and Tax, 2016)."
    )
    left, right = columns()
    with left:
        one, two = controls("errata-sampling", 2)
        height = one.slider("Height, U", 2, 6, 4, key="errata-height")
        width = two.slider("Width, V", 2, 6, 3, key="errata-width")
        question = "Which rows get lost? A picture of ones, twice."
        picture(sampled_figure(height, width), "sampling", question)
    with right:
        st.latex(
            r"\begin{aligned}X^{out} ="
            r" &\sum_{u}^{\textcolor{#D55E00}{V_{in}}\,\to\,\textcolor{#0072B2}{U_{in}}}"
            r"\ \sum_{v}^{V_{in}} X_{uv} \\"
            r" &\cdot k(x^S - v)\ k(y^S - u)\end{aligned}"
        )
        lost = height - width
        if lost > 1:
            here = f"the last {lost} of {height} rows are read as 0."
        elif lost == 1:
            here = "the last row is read as 0."
        else:
            here = "nothing is lost, as the picture is not higher than wide."
        st.markdown(
            "The rows u of a picture run to its height U, but the sum stops at its width. Here"
            f" {here} Its gradients, Eq. 34 to 36, have it right."
        )
    return height, width


def _glimpses() -> int:
    """Eq. 45."""
    st.markdown("### Eq. 45 uses M for two things", help="The survey (Wang and Tax, 2016).")
    left, right = columns()
    with left:
        count = st.slider("Glimpses", 1, MOST_GLIMPSES, 3, key="errata-glimpses")
        one, two = controls("errata-glimpses-numbers", 2)
        one.metric("As printed", f"{slope(count, True):.3f}")
        two.metric("As implemented", f"{slope(count, False):.3f}")
    with right:
        st.latex(
            r"\frac{\partial L'}{\partial\theta} \approx"
            r" \frac{1}{M}\sum_{m=1}^{M}\left(\ldots\right)"
        )
        st.markdown(
            "M is the number of glimpses at one picture, says the text; the mean over M is one of"
            " *samples*. Choices that follow each other **add up**, only repetitions are averaged."
            " On the left: the mean estimate of the slope of item 3's score, for five items of"
            " equal weight, if the answer is right once a glimpse has read item 3. As printed, it"
            " is too small by a factor equal to the number of glimpses."
        )
    return count


def sampled(height: int, width: int, printed: bool) -> Floats:
    """A picture of ones, height x width, sampled at its own pixels (Eq. 32): [U, V].

    As printed, u runs to the width; repaired, to the height. Rows that do not exist count nothing.
    """
    rows = np.arange(1.0, height + 1)
    columns = np.arange(1.0, width + 1)
    summed = rows[:width] if printed else rows
    # The kernel of bilinear sampling reaches one pixel far.
    near = np.maximum(0, 1 - np.abs(rows[:, None] - summed)).sum(1)
    beside = np.maximum(0, 1 - np.abs(columns[:, None] - columns)).sum(1)
    output: Floats = np.outer(near, beside)
    return output


def slope(glimpses: int, printed: bool) -> float:
    """What the estimate of Eq. 47 is on average, for the score of the item with the answer.

    Every one of the glimpses draws an item by the same weights; the reward is 1 if one of them took
    the item with the answer. As printed, the sum over glimpses is divided by their number;
    repaired, it is not.
    """
    ways_SM = np.indices((len(CHOICE.scores),) * glimpses).reshape(glimpses, -1).T
    chances = CHOICE.weights[ways_SM].prod(1)
    rewards = (ways_SM == RIGHT).any(1)
    summed = CHOICE.traces[ways_SM, RIGHT].sum(1)
    return float(chances @ (rewards * summed)) / (glimpses if printed else 1)


def sampled_figure(height: int, width: int) -> Figure:
    """Which rows get lost? A picture of ones, sampled as printed and as repaired."""
    wrong = sampled(height, width, True)
    right = sampled(height, width, False)
    return versions_figure((wrong, wrong != right), (right, np.full(right.shape, True)))


def table(height: int, width: int, glimpses: int) -> Table:
    """Both misprints with the number they give and the number they should give."""
    sums = [f"{sampled(height, width, printed).sum():g}" for printed in (True, False)]
    slopes = [f"{slope(glimpses, printed):.3f}" for printed in (True, False)]
    rows = [
        (f"Eq. 32 (survey), sum of the output for {height} × {width} ones", *sums),
        (f"Eq. 45 (survey), mean estimate with {glimpses} glimpses", *slopes),
    ]
    return Table(("Where", "As printed", "As implemented"), rows)

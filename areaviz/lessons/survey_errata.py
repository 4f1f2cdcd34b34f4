"""The part of lesson 12 that is the survey's."""

from __future__ import annotations

import streamlit as st

from areaviz.lessons import survey_errata_figure as view
from areaviz.lessons.frame import columns, controls, picture


def sampling() -> tuple[int, int]:
    """Eq. 31 and 32, for a height and a width of the reader's choice, which are returned."""
    st.markdown(
        "### Eq. 31 and 32 count rows by the width", help="The survey (Wang and Tax, 2016)."
    )
    left, right = columns()
    with left:
        one, two = controls("errata-sampling", 2)
        height = one.slider("Height, U", 2, 6, 4, key="errata-height")
        width = two.slider("Width, V", 2, 6, 3, key="errata-width")
        picture(
            view.sampled_figure(height, width),
            "sampling",
            "Which rows get lost? A picture of ones, twice.",
        )
    with right:
        st.latex(
            r"X^{out} ="
            r" \sum_{u}^{\textcolor{#D55E00}{V_{in}}\,\to\,\textcolor{#0072B2}{U_{in}}}\ \sum_{v}^{V_{in}} "
            r"X_{uv}\ k(x^S - v)\ k(y^S - u)"
        )
        lost = max(height - width, 0)
        said = (
            f"the last {lost} of {height} rows are read as 0"
            if lost > 1
            else "the last row is read as 0"
        )
        st.markdown(
            "The rows u of a picture run to its height U, but the sum stops at its width. "
            + (
                f"Here {said}."
                if lost
                else "Here nothing is lost, as the picture is not higher than wide."
            )
            + " Its gradients, Eq. 34 to 36, have it right."
        )
    return height, width


def glimpses() -> int:
    """Eq. 45, for a number of glimpses of the reader's choice, which is returned."""
    st.markdown("### Eq. 45 uses M for two things", help="The survey (Wang and Tax, 2016).")
    left, right = columns()
    with left:
        count = st.slider("Glimpses", 1, view.MOST_GLIMPSES, 3, key="errata-glimpses")
        one, two = controls("errata-glimpses-numbers", 2)
        one.metric("As printed", f"{view.slope(count, True):.3f}")
        two.metric("As implemented", f"{view.slope(count, False):.3f}")
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
            " is too small by the number of glimpses."
        )
    return count

"""Lesson 12: as printed and as implemented."""

from __future__ import annotations

import streamlit as st

from areaviz.drawing.base import Table
from areaviz.lessons import errata_figure as view
from areaviz.lessons import rounding_figure as rounding
from areaviz.lessons import survey_errata
from areaviz.lessons.frame import as_table, columns, controls, picture
from areaviz.lessons.survey_errata_figure import table as survey_table


@st.fragment
def show() -> None:
    """Six misprints, each run both ways on numbers of the reader's choice."""
    st.markdown(
        "Whoever implements the papers line by line gets wrong numbers. Each misprint is run here"
        " as printed and as this tool has it. *2018* is the first version of the paper on areas,"
        " *2019* the published one; the last two misprints are the survey's."
    )
    side, largest = _loops()
    _integral(side)
    mean = _variance()
    length, size = _count()
    height, width = survey_errata.sampling()
    glimpses = survey_errata.glimpses()
    ours, theirs = (
        view.table(side, largest, length, size, mean),
        survey_table(height, width, glimpses),
    )
    as_table(Table(ours.columns, [*ours.rows, *theirs.rows]), "errata")


def _loops() -> tuple[int, int]:
    st.markdown("### Algorithm 1 starts its slices one too far", help="Both versions of the paper.")
    one, two = controls("errata-loops", 2)
    side = one.slider("Grid of ones, items a side", 2, 6, 4, key="errata-side")
    largest = two.slider("Largest area, items a side", 1, 6, 2, key="errata-largest")
    largest = min(largest, side)
    wrong, right = view.loops(side, largest, True), view.loops(side, largest, False)
    left, beside = columns()
    with left:
        st.markdown(":red[As printed]")
        st.code(
            "for h = 1, ..., H_a\n  for w = 1, ..., W_a\n    I1 = I[h+1:, w+1:]\n    I2 = I[:-h-1,"
            " :-w-1]",
            None,
        )
        _two("loops-printed", "Areas", wrong.areas, "Sum of the first area", f"{wrong.first:g}")
    with beside:
        st.markdown(":blue[As implemented]")
        st.code(
            "for h = 1, ..., H_a\n  for w = 1, ..., W_a\n    I1 = I[h:, w:]\n    I2 = I[:-h, :-w]",
            None,
        )
        _two("loops", "Areas", right.areas, "Sum of the first area", f"{right.first:g}")
    st.markdown(
        "Areas labelled h × w hold (h+1) × (w+1) items, so the first, labelled 1 × 1, sums four"
        f" ones, and areas one item high or wide are missing: {wrong.right} of {wrong.areas} sums"
        f" equal the size on their label; repaired, {right.right} of {right.areas}. The sizes (H−h)"
        " × (W−w) the algorithm prints contradict the papers' own count; right are (H−h+1) ×"
        " (W−w+1)."
    )
    return side, largest


def _integral(side: int) -> None:
    st.markdown(
        "### Eq. 10 (2018) forgets to subtract", help="The equation is not in the 2019 version."
    )
    left, right = columns()
    with left:
        picture(
            view.integral_figure(side),
            "integral",
            "What does the missing term do? The table of a grid of ones, twice.",
        )
    with right:
        st.latex(
            r"\begin{aligned}I_{x,y} &= v_{x,y} + I_{x,y-1} + I_{x-1,y}\\ &\phantom{=}\ "
            r"\textcolor{#0072B2}{-\ I_{x-1,y-1}\quad\text{(missing)}}\end{aligned}"
        )
        wrong, mended = (f"{view.integral(side, printed)[-1, -1]:g}" for printed in (True, False))
        st.markdown(
            f"Both terms hold the rectangle up to (x−1, y−1), so it is counted twice. On {side} ×"
            f" {side} ones the last entry becomes **{wrong}** instead of **{mended}**. The slider"
            " above sets the grid."
        )
        as_table(view.integral_table(side), "integral")


def _variance() -> float:
    st.markdown(
        "### Algorithm 2 takes the root of negative numbers", help="Both versions of the paper."
    )
    left, right = columns()
    with left:
        mean = st.select_slider("Mean of the numbers", rounding.MEANS, value=100, key="errata-mean")
        st.metric(
            "Negative variances, as printed",
            f"{rounding.measure(mean).negative:,} of {rounding.GRID.count:,}",
        )
    with right:
        st.latex(r"\sigma = \sqrt{\mu' - \mu\odot\mu}")
        st.markdown(
            "In exact arithmetic the mean of the squares is never less than the square of the mean;"
            " in float32 it is. The merge of lesson 5 gives **0** negative variances at any mean."
        )
    return float(mean)


def _count() -> tuple[int, int]:
    st.markdown("### The count formula needs S to fit", help="Both versions of the paper.")
    left, right = columns()
    with left:
        one, two = controls("errata-count", 2)
        length = one.slider("Length, L", 1, 10, 4, key="errata-length")
        size = two.slider("Largest area, S", 1, 10, 6, key="errata-size")
        _two(
            "count",
            "As printed",
            view.printed_count(length, size),
            "As implemented",
            view.true_count(length, size),
        )
    with right:
        st.latex(r"|R| = (L-S)\,S + \tfrac{S(S+1)}{2}")
        st.markdown(
            "Right as long as S is at most L. A sentence may be shorter than the largest area: then"
            " the first term turns negative and areas go missing. This tool cuts S down to L first."
        )
    return length, size


def _two(key: str, first: str, one: object, second: str, two: object) -> None:
    left, right = controls(f"errata-{key}-numbers", 2)
    left.metric(first, f"{one}")
    right.metric(second, f"{two}")

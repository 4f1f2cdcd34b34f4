"""Lesson 13: the misprints of the papers, run as printed and as implemented.

The misprints of the papers on areas are here: A18 is the first version (2018), A19 the published
one (Li et al. 2019). Those of the survey are in `areaviz.lessons.survey_errata`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons import survey_errata
from areaviz.lessons.arithmetic import Floats, corner_sums, padded_table
from areaviz.lessons.page_parts import as_table, columns, controls, picture
from areaviz.lessons.pictures import versions_figure
from areaviz.lessons.rounding import GRID, MEANS, measure
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class Loops:
    """What Algorithm 1 returns on a grid of ones.

    Args:
        areas: how many.
        first: the sum of the first area, labelled 1 x 1.
        right: how many of the returned sums equal the size on their label.
    """

    areas: int
    first: float
    right: int


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
    # The survey's part is drawn before the table, which holds the numbers of both.
    theirs = survey_errata.show()
    ours = table(side, largest, length, size, mean)
    as_table(Table(ours.columns, [*ours.rows, *theirs.rows]), "errata")


def _loops() -> tuple[int, int]:
    st.markdown("### Algorithm 1 starts its slices one too far", help="Both versions of the paper.")
    one, two = controls("errata-loops", 2)
    side = one.slider("Grid of ones, items a side", 2, 6, 4, key="errata-side")
    largest = two.slider("Largest area, items a side", 1, 6, 2, key="errata-largest")
    largest = min(largest, side)
    wrong = loops(side, largest, True)
    right = loops(side, largest, False)
    left, beside = columns()
    with left:
        st.markdown(":red[As printed]")
        _algorithm("loops-printed", "I1 = I[h+1:, w+1:]\n    I2 = I[:-h-1, :-w-1]", wrong)
    with beside:
        st.markdown(":blue[As implemented]")
        _algorithm("loops", "I1 = I[h:, w:]\n    I2 = I[:-h, :-w]", right)
    st.markdown(
        "Areas labelled h × w hold (h+1) × (w+1) items, so the first, labelled 1 × 1, sums four"
        f" ones, and areas one item high or wide are missing: {wrong.right} of {wrong.areas} sums"
        f" equal the size on their label; repaired, {right.right} of {right.areas}. The sizes (H−h)"
        " × (W−w) the algorithm prints contradict the papers' own count; right are (H−h+1) ×"
        " (W−w+1)."
    )
    return side, largest


def _algorithm(key: str, slices: str, found: Loops) -> None:
    """The loops of Algorithm 1 round its slices, and what they return."""
    st.code(f"for h = 1, ..., H_a\n  for w = 1, ..., W_a\n    {slices}", None)
    _metrics(key, ("Areas", "Sum of the first area"), (found.areas, f"{found.first:g}"))


def _integral(side: int) -> None:
    st.markdown(
        "### Eq. 10 (2018) forgets to subtract", help="The equation is not in the 2019 version."
    )
    left, right = columns()
    with left:
        question = "What does the missing term do? The table of a grid of ones, twice."
        picture(integral_figure(side), "integral", question)
    with right:
        st.latex(
            r"\begin{aligned}I_{x,y} &= v_{x,y} + I_{x,y-1} + I_{x-1,y}\\ &\phantom{=}\ "
            r"\textcolor{#0072B2}{-\ I_{x-1,y-1}\quad\text{(missing)}}\end{aligned}"
        )
        printed, repaired = _last_entries(side)
        st.markdown(
            f"Both terms hold the rectangle up to (x−1, y−1), so it is counted twice. On {side} ×"
            f" {side} ones the last entry becomes **{printed}** instead of **{repaired}**. The"
            " slider above sets the grid."
        )
        as_table(integral_table(side), "integral")


def _variance() -> float:
    st.markdown(
        "### Algorithm 2 takes the root of negative numbers", help="Both versions of the paper."
    )
    left, right = columns()
    with left:
        mean = st.select_slider("Mean of the numbers", MEANS, value=100, key="errata-mean")
        negative = f"{measure(mean).negative:,} of {GRID.count:,}"
        st.metric("Negative variances, as printed", negative)
    with right:
        st.latex(r"\sigma = \sqrt{\mu' - \mu\odot\mu}")
        st.markdown(
            "In exact arithmetic the mean of the squares is never less than the square of the mean;"
            " in float32 it is. The merge of lesson 10 gives **0** negative variances at any mean."
        )
    return float(mean)


def _count() -> tuple[int, int]:
    st.markdown("### The count formula needs S to fit", help="Both versions of the paper.")
    left, right = columns()
    with left:
        one, two = controls("errata-count", 2)
        length = one.slider("Length, L", 1, 10, 4, key="errata-length")
        size = two.slider("Largest area, S", 1, 10, 6, key="errata-size")
        counts = (printed_count(length, size), true_count(length, size))
        _metrics("count", ("As printed", "As implemented"), counts)
    with right:
        st.latex(r"|R| = (L-S)\,S + \tfrac{S(S+1)}{2}")
        st.markdown(
            "Right as long as S is at most L. A sentence may be shorter than the largest area: then"
            " the first term turns negative and areas go missing. This tool cuts S down to L first."
        )
    return length, size


def _metrics(key: str, names: tuple[str, str], values: tuple[object, object]) -> None:
    places = controls(f"errata-{key}-numbers", 2)
    for place, name, value in zip(places, names, values, strict=True):
        place.metric(name, str(value))


def loops(side: int, largest: int, printed: bool) -> Loops:
    """Run Algorithm 1 on side x side ones with areas up to largest x largest.

    As printed, slices start at h + 1 and w + 1; repaired, at h and w.
    """
    table_HW = padded_table(np.ones((side, side, 1)))[..., 0]
    shift = int(printed)
    areas = 0
    right = 0
    first = 0.0
    for h in range(1, largest + 1):
        for w in range(1, largest + 1):
            if max(h, w) + shift > side:
                continue  # the slices are empty
            sums = corner_sums(table_HW, h + shift, w + shift)
            first = first or float(sums[0, 0])
            areas += sums.size
            right += int((sums == h * w).sum())
    return Loops(areas, first, right)


def integral(side: int, printed: bool) -> Floats:
    """A18 Eq. 10 on side x side ones; repaired, it subtracts I[x-1, y-1]."""
    table_HW = np.zeros((side + 1, side + 1))
    for row in range(1, side + 1):
        for column in range(1, side + 1):
            twice = 0 if printed else table_HW[row - 1, column - 1]
            both = table_HW[row - 1, column] + table_HW[row, column - 1]
            table_HW[row, column] = 1 + both - twice
    return table_HW[1:, 1:]


def printed_count(length: int, size: int) -> int:
    """(L - S) S + S (S + 1) / 2, whether S fits or not."""
    return (length - size) * size + size * (size + 1) // 2


def true_count(length: int, size: int) -> int:
    """How many spans of at most `size` items there are in `length` items."""
    return AreaGrid.clamped((1, length), (1, size)).count


def integral_figure(side: int) -> Figure:
    """What does the missing term do? The table of a grid of ones as printed and as repaired."""
    lit_HW = np.full((side, side), False)
    lit_HW[-1, -1] = True
    return versions_figure((integral(side, True), lit_HW), (integral(side, False), lit_HW))


def integral_table(side: int) -> Table:
    """Both versions of the table, row by row."""
    printed = integral(side, True)
    repaired = integral(side, False)
    rows = []
    for row in range(side):
        rows.append((row + 1, _in_writing(printed[row]), _in_writing(repaired[row])))
    return Table(("Row", "As printed", "As implemented"), rows)


def table(side: int, largest: int, length: int, size: int, mean: float) -> Table:
    """Every misprint with the number it gives and the number it should give."""
    wrong = loops(side, largest, True)
    right = loops(side, largest, False)
    counts = (printed_count(length, size), true_count(length, size))
    first = "Algorithm 1, sum of the first area of ones, labelled 1 × 1"
    rows = [
        ("Algorithm 1, areas returned", str(wrong.areas), str(right.areas)),
        (first, f"{wrong.first:g}", f"{right.first:g}"),
        ("Eq. 10 (2018), last entry for ones", *_last_entries(side)),
        (f"Algorithm 2, negative variances among {GRID.count}", str(measure(mean).negative), "0"),
        (f"Count formula, L = {length}, S = {size}", *map(str, counts)),
    ]
    return Table(("Where", "As printed", "As implemented"), rows)


def _in_writing(row: Floats) -> str:
    return " ".join(f"{value:g}" for value in row)


def _last_entries(side: int) -> tuple[str, str]:
    """The last entry of Eq. 10 for ones, as printed and as repaired."""
    return f"{integral(side, True)[-1, -1]:g}", f"{integral(side, False)[-1, -1]:g}"

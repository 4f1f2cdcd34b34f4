"""Lesson 3: the key and the value of an area are a mean and a sum (Eq. 3, 4, 5)."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import (
    Floats,
    area_deviations,
    area_means,
    area_sums,
    areas_of,
    items_of,
    vector,
)
from areaviz.lessons.page_parts import as_table, columns, grow_to, pick_area, picture
from areaviz.lessons.pictures import memory_figure
from areaviz.trace.areas import Area, AreaGrid

NUMBERS_HWD: Floats = np.arange(1.0, 7.0).reshape(2, 3, 1)
PAIRS_HWD: Floats = np.arange(1.0, 11.0).reshape(1, 5, 2)
MEMORIES = {"Grid of six numbers": NUMBERS_HWD, "Sequence of five pairs": PAIRS_HWD}
"""Small memories; keys and values are the same numbers, to keep the arithmetic in view."""


@st.fragment
def show() -> None:
    """Mean key, sum value and standard deviation of the chosen area, with its numbers."""
    left, right = columns()
    with left:
        names = list(MEMORIES)
        name = st.segmented_control("Memory", names, default=names[0], required=True)
        memory_HWD = MEMORIES[name]
        key = f"mean-{names.index(name)}"
        grid = areas(memory_HWD)
        chosen = pick_area(key, grid, Area(0, 1, min(2, grid.height), 2))
        question = (
            "Which numbers does the chosen area hold? The memory with the items of the area lit."
        )
        picture(figure(memory_HWD, chosen), key, question, partial(grow_to, key, grid))
        st.caption("Click an item: the area grows to it, or starts there.")
        as_table(table(memory_HWD), key)
    with right:
        st.markdown(
            "A query is compared with a **key** and, if they match, gets a **value**. What are the"
            " key and the value of several items together? The simplest answer has nothing to"
            " learn: the key is the **mean** of the keys (Eq. 3) and the value is the **sum** of"
            " the values (Eq. 4). Here keys and values are the same numbers, to keep the arithmetic"
            " short."
        )
        st.latex(mean_equation(memory_HWD, chosen))
        st.latex(sum_equation(memory_HWD, chosen))
        st.markdown(
            "How unlike the items are, their **standard deviation** (Eq. 5), can enrich the key:"
            " see lesson 5."
        )
        st.latex(deviation_equation(memory_HWD, chosen))


def areas(memory_HWD: Floats) -> AreaGrid:
    """The areas of a memory, up to 2 high and 3 wide."""
    height, width, _ = memory_HWD.shape
    return AreaGrid.clamped((height, width), (2, 3))


def figure(memory_HWD: Floats, chosen: Area) -> Figure:
    """Which numbers does the chosen area hold? The memory with these items lit."""
    texts_HW = [[vector(item) for item in row] for row in memory_HWD]
    return memory_figure(texts_HW, chosen, cell=66, size=17, label="item {number}: {text}")


def mean_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 3 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    return rf"\mu = \frac{{{_sum(items)}}}{{{chosen.size}}} = \mathbf{{{vector(items.mean(0))}}}"


def sum_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 4 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    return rf"v = {_sum(items)} = \mathbf{{{vector(items.sum(0))}}}"


def deviation_equation(memory_HWD: Floats, chosen: Area) -> str:
    """Eq. 5 with the chosen area's numbers (LaTeX)."""
    items = items_of(memory_HWD, chosen)
    squares = (items - items.mean(0)) ** 2
    above = _sum(squares, 2)
    # Six squares in one line would leave a phone's screen.
    if len(squares) > 4:
        lines = (_sum(squares[:3], 2), "+ " + _sum(squares[3:], 2))
        above = r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"
    return (
        rf"\sigma = \sqrt{{\frac{{{above}}}{{{chosen.size}}}}} ="
        rf" \mathbf{{{vector(items.std(0))}}}"
    )


def table(memory_HWD: Floats) -> Table:
    """Mean, sum and standard deviation of every area."""
    grid = areas(memory_HWD)
    means = area_means(memory_HWD, grid)
    sums = area_sums(memory_HWD, grid)
    deviations = area_deviations(memory_HWD, grid)
    rows = []
    for number, area in enumerate(areas_of(grid)):
        held = " ".join(vector(item) for item in items_of(memory_HWD, area))
        key = vector(means[number])
        value = vector(sums[number])
        rows.append((number + 1, held, key, value, vector(deviations[number])))
    return Table(("Area", "Items", "Mean (key)", "Sum (value)", "Standard deviation"), rows)


def _sum(items: Floats, digits: int = 3) -> str:
    return " + ".join(vector(item, digits) for item in items)

"""Lesson 1: the areas of a sequence, as a staircase, and how many there are (Fig. 1)."""

from __future__ import annotations

from functools import partial

import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import areas_of, holds
from areaviz.lessons.page_parts import as_table, choose, columns, controls, pick_area, picture
from areaviz.lessons.pictures import BLUE, GREEN, INK, ORANGE, Board, tint
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
        picture(figure(grid, chosen), "sequence", question, partial(choose, "sequence", grid))
    with right:
        _words(grid, chosen)
        as_table(table(grid), "sequence")


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
    st.markdown(f"The chosen area holds **{describe(chosen)}**.")
    st.markdown(
        "How many areas are there? :blue[The first L − S starts] have room for all S lengths: a"
        " block. :green[The last S starts] run out of room one by one: a stair."
    )
    st.latex(count_equation(grid))
    if st.session_state["sequence-size"] > grid.width:
        st.caption(f"S was cut to {grid.width}: an area cannot be longer than the sequence.")


def figure(grid: AreaGrid, chosen: Area) -> Figure:
    """Which areas does a sequence have? One cell an area, the items of the chosen one lit."""
    length = grid.width
    size = grid.max_width
    board = Board(-1.5, -0.1, length + 0.1, size + 2.15)
    for number, area in enumerate(areas_of(grid)):
        x = area.left
        y = size - area.width
        text = span(area) if length <= 9 else ""  # smaller cells have no room for it
        ink = INK if area == chosen else None
        board.box(x, y, _fill(area, grid, chosen), text, ink=ink, size=12)
        board.hit(x, y, f"{describe(area)}, area {number + 1} of {grid.count}", number)
    for row in range(size):
        board.text(-0.25, row + 0.5, str(size - row), anchor="right")
    board.text(-1.2, size / 2, "length" if size > 1 else "", angle=-90)
    for item in range(length):
        board.item(item, size + 0.5, str(item + 1), holds(chosen, 0, item))
    board.text(-0.25, size + 1, "items", anchor="right")
    board.text(length / 2, size + 1.85, "first item of the area")
    return board.figure()


def count_equation(grid: AreaGrid) -> str:
    """The count formula with the numbers put in, coloured like the picture (LaTeX)."""
    length = grid.width
    size = grid.max_width
    block = (length - size) * size
    stairs = size * (size + 1) // 2
    return (
        r"\begin{aligned}|R| &= \textcolor{#0072B2}{(L-S)\,S} +"
        r" \textcolor{#009E73}{\tfrac{S(S+1)}{2}} \\ &= "
        rf"\textcolor{{#0072B2}}{{({length}-{size})\cdot {size}}} + "
        rf"\textcolor{{#009E73}}{{\tfrac{{{size}\cdot {size + 1}}}{{2}}}} = "
        rf"\textcolor{{#0072B2}}{{{block}}} + \textcolor{{#009E73}}{{{stairs}}} ="
        rf" \mathbf{{{block + stairs}}}"
        r"\end{aligned}"
    )


def span(area: Area) -> str:
    """A span in figures, items counted from 1: "2" or "2–3"."""
    last = area.left + area.width
    return str(last) if area.width == 1 else f"{area.left + 1}–{last}"


def describe(area: Area) -> str:
    """A span in words, items counted from 1."""
    if area.width == 1:
        return f"item {area.left + 1}"
    return f"items {area.left + 1} to {area.left + area.width}"


def table(grid: AreaGrid) -> Table:
    """Every area in the order the model counts them."""
    rows = []
    for number, area in enumerate(areas_of(grid), start=1):
        rows.append((number, describe(area), area.left + 1, area.width))
    return Table(("Area", "Holds", "Starts at item", "Length"), rows)


def _fill(area: Area, grid: AreaGrid, chosen: Area) -> str:
    if area == chosen:
        return ORANGE
    return tint(BLUE if area.left < grid.width - grid.max_width else GREEN, 0.55)

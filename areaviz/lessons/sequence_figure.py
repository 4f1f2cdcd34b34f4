"""Lesson 1: every area of a sequence, as a staircase of start x length, and how many there are."""

from __future__ import annotations

from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.board import BLUE, GREEN, INK, ORANGE, QUIET, Board, tint
from areaviz.trace.areas import Area, AreaGrid


def figure(grid: AreaGrid, chosen: Area) -> Figure:
    """Which areas does a sequence have? One cell an area, the items of the chosen one lit."""
    length, size = grid.width, grid.max_width
    board = Board(-1.5, -0.1, length + 0.1, size + 2.15)
    for number in range(grid.count):
        area = grid.area(number)
        x, y = area.left, size - area.width
        board.box(x, y, _fill(area, grid, chosen))
        if length <= 9:
            board.text(x + 0.5, y + 0.5, span(area), ink=INK if area == chosen else None)
        board.hit(x + 0.5, y + 0.5, f"{describe(area)}, area {number + 1} of {grid.count}", number)
    for row in range(size):
        board.text(-0.25, row + 0.5, str(size - row), anchor="right")
    board.text(-1.2, size / 2, "length" if size > 1 else "", turned=True)
    for item in range(length):
        lit = chosen.left <= item < chosen.left + chosen.width
        board.box(
            item, size + 0.5, ORANGE if lit else QUIET, str(item + 1), ink=INK if lit else None
        )
    board.text(-0.25, size + 1, "items", anchor="right")
    board.text(length / 2, size + 1.85, "first item of the area")
    return board.figure()


def count_equation(grid: AreaGrid) -> str:
    """The count formula with the numbers put in, coloured like the picture (LaTeX)."""
    length, size = grid.width, grid.max_width
    block, stairs = (length - size) * size, size * (size + 1) // 2
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
    areas = (grid.area(number) for number in range(grid.count))
    rows = [
        (number + 1, describe(area), area.left + 1, area.width) for number, area in enumerate(areas)
    ]
    return Table(("Area", "Holds", "Starts at item", "Length"), rows)


def _fill(area: Area, grid: AreaGrid, chosen: Area) -> str:
    if area == chosen:
        return ORANGE
    return tint(BLUE, 0.55) if area.left < grid.width - grid.max_width else tint(GREEN, 0.55)

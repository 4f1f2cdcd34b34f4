"""What a lesson's page is made of: columns, sliders, pictures, tables, and the chosen area.

An area is chosen by one slider over all areas, in the order the model counts them, and by clicks in
pictures; `choose`, `reach_to` and `grow_to` are what a click does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator

from areaviz.drawing.base import Table
from areaviz.trace.areas import Area, AreaGrid

# Text in pictures takes the page's colour unless it stands on a lit cell; coloured formulas are
# darkened on a light page and lightened on a dark one until they can be read.
STYLE = """
[class*="st-key-lesson-"] [data-testid="stHorizontalBlock"] {
  flex-wrap: wrap; row-gap: 0.25rem; column-gap: 2rem; }
[class*="st-key-lesson-"] [data-testid="stColumn"] { min-width: min(20rem, 100%); }
[class*="st-key-controls-"] [data-testid="stColumn"] { min-width: 8rem; }
[class*="st-key-controls-"] [data-testid="stColumn"]:has([data-testid="stButtonGroup"]) {
  min-width: min(17rem, 100%); }
[class*="st-key-lesson-"] .katex-display {
  margin: 0.2em 0 0.6em; padding: 0.1em 0 0.3em; overflow: visible !important; }
[class*="st-key-lesson-"] .katex-display > .katex { white-space: normal !important; }
[class*="st-key-lesson-"] .main-svg
    text:not([style*="fill: rgb(26, 26, 26)"], [style*="fill: rgb(255, 255, 255)"]) {
  fill: currentColor !important; }
.katex [style*="color: rgb(0, 114, 178)"] { color: light-dark(#00639B, #63BDF0) !important; }
.katex [style*="color: rgb(0, 158, 115)"] { color: light-dark(#007353, #3CC79C) !important; }
.katex [style*="color: rgb(213, 94, 0)"] { color: light-dark(#B04E00, #FF9248) !important; }
.katex [style*="color: rgb(204, 121, 167)"] { color: light-dark(#A2477A, #E5A5C8) !important; }
.st-key-lessons ol { columns: 3 15rem; }
.st-key-lessons li { margin-top: 0; break-inside: avoid; }
"""
_CONFIG = {"displayModeBar": False, "displaylogo": False}


def columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Picture on the left, words on the right; one below the other where the page is narrow."""
    left, right = st.columns([6, 5], gap="medium")
    return left, right


def controls(key: str, count: int, align: Literal["top", "bottom"] = "top") -> list[DeltaGenerator]:
    """A row of columns for sliders and choices, which may stand closer than pictures and words."""
    with st.container(key=f"controls-{key}"):
        return list(st.columns(count, gap="medium", vertical_alignment=align))


def picture(
    figure: Figure, key: str, question: str, on_click: Callable[[int], None] | None = None
) -> None:
    """Show a figure.

    Args:
        key: unique on the page.
        question: what the figure answers, which stands in for it where it cannot be seen.
        on_click: called with the number of the place that was clicked.
    """
    name = f"picture-{key}"
    if on_click is None:
        st.plotly_chart(figure, key=name, config=_CONFIG, alt=question)
        return

    def clicked() -> None:
        points = st.session_state[name].selection.points
        # Clicking a marked place again takes the mark away and reports no point.
        if points:
            on_click(int(points[0]["customdata"]))

    st.plotly_chart(
        figure, key=name, config=_CONFIG, alt=question, on_select=clicked, selection_mode="points"
    )


def as_table(table: Table, key: str) -> None:
    """The numbers of a picture as text, made only when the reader opens it."""
    expander = st.expander("Show as table", key=f"table-{key}", type="compact", on_change="rerun")
    if expander.open:
        cells = zip(*table.rows, strict=True)
        expander.table(dict(zip(table.columns, cells, strict=True)))


def pick_area(key: str, grid: AreaGrid, first: Area) -> Area:
    """A slider over the areas of `grid`, and the area chosen by it or by a click.

    Args:
        key: of the lesson.
        grid: may change from run to run; the chosen area is then cut and moved to fit.
        first: the area to begin with.
    """
    # A click may have chosen an area since the slider was drawn, so the slider follows it.
    area = fitted(st.session_state.get(_area_key(key), first), grid)
    slider = f"{key}-number"
    st.session_state[_area_key(key)] = area
    st.session_state[slider] = grid.index(area) + 1

    def moved() -> None:
        choose(key, grid, st.session_state[slider] - 1)

    st.slider(
        "Chosen area",
        1,
        grid.count,
        key=slider,
        format=f"%d of {grid.count}",
        on_change=moved,
        help=(
            "All areas in the order the model counts them: by height, then by width, then row by"
            " row."
        ),
    )
    return area


def choose(key: str, grid: AreaGrid, number: int) -> None:
    """Make the area at `number` the chosen one."""
    st.session_state[_area_key(key)] = grid.area(number)


def reach_to(key: str, grid: AreaGrid, item: int) -> None:
    """Let the chosen area end at `item`: for clicks on a table."""
    name = _area_key(key)
    st.session_state[name] = reached(st.session_state[name], divmod(item, grid.width))


def grow_to(key: str, grid: AreaGrid, item: int) -> None:
    """Let the chosen area grow to `item` or start there: for clicks on a memory."""
    name = _area_key(key)
    st.session_state[name] = grown(st.session_state[name], grid, divmod(item, grid.width))


def reached(area: Area, corner: tuple[int, int]) -> Area:
    """The area with its lower right corner at (row, column).

    Its upper left corner moves only where it would lie beyond the lower right one.
    """
    row, column = corner
    top = min(area.top, row)
    left = min(area.left, column)
    return Area(top, left, row - top + 1, column - left + 1)


def grown(area: Area, grid: AreaGrid, corner: tuple[int, int]) -> Area:
    """The area from its upper left corner to (row, column), else the one item there.

    It is the one item where the grid has no such area.
    """
    row, column = corner
    height = row - area.top + 1
    width = column - area.left + 1
    fits = 1 <= height <= grid.max_height and 1 <= width <= grid.max_width
    return Area(area.top, area.left, height, width) if fits else Area(row, column, 1, 1)


def fitted(area: Area, grid: AreaGrid) -> Area:
    """The area cut and moved, no more than needed, to be one of the grid's."""
    height = min(area.height, grid.max_height)
    width = min(area.width, grid.max_width)
    top = min(area.top, grid.height - height)
    left = min(area.left, grid.width - width)
    return Area(top, left, height, width)


def _area_key(key: str) -> str:
    return f"{key}-area"

"""Choosing an area: one slider over all areas, in the order the model counts them, and clicks in
pictures.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.trace.areas import Area, AreaGrid


def pick_area(key: str, grid: AreaGrid, first: Area) -> Area:
    """A slider over the areas of `grid`; keeps the area, as far as it fits, when the grid changes.

    key: of the lesson; first: the area to begin with.
    """
    area = fitted(st.session_state.get(_area(key), first), grid)
    st.session_state[_area(key)] = area
    st.session_state[_slider(key)] = grid.index(area) + 1
    st.slider(
        "Chosen area",
        1,
        grid.count,
        key=_slider(key),
        format=f"%d of {grid.count}",
        on_change=partial(_moved, key, grid),
        help=(
            "All areas in the order the model counts them: by height, then by width, then row by"
            " row."
        ),
    )
    return area


def choose(key: str, grid: AreaGrid, number: int) -> None:
    """Make the area at `number` the chosen one (for clicks)."""
    st.session_state[_area(key)] = grid.area(number)


def reach_to(key: str, columns: int, item: int) -> None:
    """Let the chosen area end at `item` (for clicks on a table)."""
    st.session_state[_area(key)] = reached(st.session_state[_area(key)], divmod(item, columns))


def grow_to(key: str, grid: AreaGrid, item: int) -> None:
    """Let the chosen area grow to `item` or start there (for clicks on a memory)."""
    st.session_state[_area(key)] = grown(
        st.session_state[_area(key)], grid, divmod(item, grid.width)
    )


def reached(area: Area, corner: tuple[int, int]) -> Area:
    """The area with its lower right corner at (row, column), its upper left one moved only if it
    must.
    """
    row, column = corner
    top, left = min(area.top, row), min(area.left, column)
    return Area(top, left, row - top + 1, column - left + 1)


def grown(area: Area, grid: AreaGrid, corner: tuple[int, int]) -> Area:
    """The area from its upper left corner to (row, column) if the grid has it, else
    that one item.
    """
    row, column = corner
    height, width = row - area.top + 1, column - area.left + 1
    fits = 1 <= height <= grid.max_height and 1 <= width <= grid.max_width
    return Area(area.top, area.left, height, width) if fits else Area(row, column, 1, 1)


def fitted(area: Area, grid: AreaGrid) -> Area:
    """The area cut and moved, no more than needed, to be one of the grid's."""
    height, width = min(area.height, grid.max_height), min(area.width, grid.max_width)
    return Area(
        min(area.top, grid.height - height), min(area.left, grid.width - width), height, width
    )


def _moved(key: str, grid: AreaGrid) -> None:
    st.session_state[_area(key)] = grid.area(st.session_state[_slider(key)] - 1)


def _area(key: str) -> str:
    return f"{key}-area"


def _slider(key: str) -> str:
    return f"{key}-number"

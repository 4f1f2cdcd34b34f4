"""Choosing an area: one slider over all areas, in the order the model counts them, and clicks in pictures."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.trace.areas import Area, AreaGrid


def pick_area(key: str, grid: AreaGrid, first: Area) -> Area:
    """A slider over the areas of `grid`; keeps the area, as far as it fits, when the grid changes.

    key: of the lesson; first: the area to begin with.
    """
    area = _fitted(st.session_state.get(_area(key), first), grid)
    st.session_state[_area(key)] = area
    st.session_state[_slider(key)] = grid.index(area) + 1
    st.slider(
        "Chosen area",
        1,
        grid.count,
        key=_slider(key),
        format=f"%d of {grid.count}",
        on_change=partial(_moved, key, grid),
        help="All areas in the order the model counts them: small ones first, then from left to right.",
    )
    return area


def choose(key: str, grid: AreaGrid, number: int) -> None:
    """Make the area at `number` the chosen one (for clicks)."""
    st.session_state[_area(key)] = grid.area(number)


def reach_to(key: str, item: int, columns: int) -> None:
    """Move the lower right corner of the chosen area to `item`, its top left corner as far as it must."""
    area: Area = st.session_state[_area(key)]
    row, column = divmod(item, columns)
    top, left = min(area.top, row), min(area.left, column)
    st.session_state[_area(key)] = Area(top, left, row - top + 1, column - left + 1)


def grow_to(key: str, grid: AreaGrid, item: int) -> None:
    """Make the chosen area reach from its top left corner to `item`, or start there if it cannot."""
    row, column = divmod(item, grid.width)
    area: Area = st.session_state[_area(key)]
    height, width = row - area.top + 1, column - area.left + 1
    fits = 1 <= height <= grid.max_height and 1 <= width <= grid.max_width
    st.session_state[_area(key)] = Area(area.top, area.left, height, width) if fits else Area(row, column, 1, 1)


def _moved(key: str, grid: AreaGrid) -> None:
    st.session_state[_area(key)] = grid.area(st.session_state[_slider(key)] - 1)


def _fitted(area: Area, grid: AreaGrid) -> Area:
    height, width = min(area.height, grid.max_height), min(area.width, grid.max_width)
    return Area(min(area.top, grid.height - height), min(area.left, grid.width - width), height, width)


def _area(key: str) -> str:
    return f"{key}-area"


def _slider(key: str) -> str:
    return f"{key}-number"

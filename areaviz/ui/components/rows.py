"""What can be clicked: rows of a table, which the server sorts, and marks of a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from areaviz.ui.shell.component import component
from areaviz.ui.shell.markdown import visible

HEIGHT = 340


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Args:
        title: its head.
        name: what a click on its head reports, "" where it cannot be sorted by.
        is_number: whether it stands at the right.
    """

    title: str
    name: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """What the table shows.

    Args:
        columns: from left to right; the first cell of a row is what a keyboard reaches.
        cells: for each row as many texts as columns.
        ids: for each row the number that a click on it reports.
        chosen: the id of the row that is open, if one is.
        sorted_by: the name of a column, and whether it rises; None for an order of its own.
    """

    columns: Sequence[Column]
    cells: Sequence[Sequence[str]]
    ids: Sequence[int]
    chosen: int | None = None
    sorted_by: tuple[str, bool] | None = None


def rows(
    label: str,
    shown: Rows,
    *,
    key: str,
    on_open: Callable[[], None],
    on_sort: Callable[[], None] | None = None,
    target: str = "",
) -> None:
    """Draw the table.

    Args:
        label: of the table, for those who do not see it.
        shown: what it holds.
        key: unique on the page.
        on_open: runs when a row is clicked, see `clicked_row`.
        on_sort: runs when a head is clicked, see `clicked_head`.
        target: the key of the container that a click fills; it is brought to view.
    """
    columns = []
    for one in shown.columns:
        columns.append({"title": visible(one.title), "name": one.name, "number": one.is_number})
    order = None
    if shown.sorted_by is not None:
        name, rises = shown.sorted_by
        order = [name, "ascending" if rises else "descending"]
    data = {
        "label": visible(label),
        "columns": columns,
        "rows": [[visible(cell) for cell in row] for row in shown.cells],
        "ids": list(shown.ids),
        "chosen": shown.chosen,
        "sorted": order,
        "height": HEIGHT,
        "target": target,
    }
    component("rows")(
        key=key,
        data=data,
        on_opened_change=on_open,
        on_sorted_change=on_sort or _nothing,
    )


def clicked_row(key: str) -> int | None:
    """The id of the row that was clicked last in the table of a key; for use in `on_open`."""
    found = _reported(key, "opened")
    return int(found) if isinstance(found, int | float) else None


def clicked_head(key: str) -> str | None:
    """The name of the column whose head was clicked last; for use in `on_sort`."""
    found = _reported(key, "sorted")
    return found if isinstance(found, str) else None


def chart_pointer(chart: str, on_click: Callable[[int], None]) -> object:
    """Report clicks and drags on a chart, without the marks that a drag encloses.

    Args:
        chart: the key of the chart.
        on_click: is called with the number that the clicked mark carries as `customdata`.

    Returns:
        The outlines of the last drags as the browser sent them; see `read_outlines`.
    """
    key = f"clicks_{chart}"

    def click() -> None:
        number = _reported(key, "clicked")
        if isinstance(number, int | float):
            on_click(int(number))

    component("clicks")(
        key=key,
        data={"chart": chart},
        on_clicked_change=click,
        on_outlines_change=_nothing,
    )
    return _reported(key, "outlines")


def _reported(key: str, name: str) -> object:
    state = st.session_state.get(key)
    return state.get(name) if state else None


def _nothing() -> None:
    """Do nothing: the page runs anyway."""

"""Clickable elements: rows of a table that the server sorts, and marks of a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from areaviz.app.components import get_component, get_report, ignore_report
from areaviz.draw.labels import escape_controls

HEIGHT_PX = 340


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Args:
        title: its header.
        name: the name that a click on the header reports, "" if the column cannot be sorted.
        is_number: whether it is aligned to the right.
    """

    title: str
    name: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class TableContent:
    """The content of the table.

    Args:
        columns: the columns from left to right. The first cell of a row gets the keyboard focus.
        cells: for each row one text per column.
        ids: for each row the number that a click reports.
        chosen: the id of the open row, if there is one.
        sorted_by: the name of a column, and whether it rises; None for another order.
    """

    columns: Sequence[Column]
    cells: Sequence[Sequence[str]]
    ids: Sequence[int]
    chosen: int | None = None
    sorted_by: tuple[str, bool] | None = None


def draw_rows(
    label: str,
    shown: TableContent,
    *,
    key: str,
    on_open: Callable[[], None],
    on_sort: Callable[[], None] | None = None,
    target: str = "",
) -> None:
    """Draw the table.

    Args:
        label: the accessible name of the table.
        shown: the content.
        key: a widget key that is unique on the page.
        on_open: called when a row is clicked, see `get_clicked_row`.
        on_sort: called when a header is clicked, see `get_clicked_header`.
        target: the key of the container that a click fills. The page scrolls to it.
    """
    columns = []
    for one in shown.columns:
        columns.append(
            {"title": escape_controls(one.title), "name": one.name, "number": one.is_number}
        )
    order = None
    if shown.sorted_by is not None:
        name, rises = shown.sorted_by
        order = [name, "ascending" if rises else "descending"]
    data = {
        "label": escape_controls(label),
        "columns": columns,
        "rows": [[escape_controls(cell) for cell in row] for row in shown.cells],
        "ids": list(shown.ids),
        "chosen": shown.chosen,
        "sorted": order,
        "height": HEIGHT_PX,
        "target": target,
    }
    get_component("rows")(
        key=key,
        data=data,
        on_opened_change=on_open,
        on_sorted_change=on_sort or ignore_report,
    )


def get_clicked_row(key: str) -> int | None:
    """Return the id of the row clicked last in the table with this key; for use in `on_open`."""
    found = get_report(key, "opened")
    return int(found) if isinstance(found, int | float) else None


def get_clicked_header(key: str) -> str | None:
    """Return the name of the column whose header was clicked last; for use in `on_sort`."""
    found = get_report(key, "sorted")
    return found if isinstance(found, str) else None


def draw_chart_pointer(chart: str, on_click: Callable[[int], None]) -> object:
    """Report clicks and drags on a chart, without the marks that a drag encloses.

    Args:
        chart: the key of the chart.
        on_click: called with the number in the clicked mark's `customdata`.

    Returns:
        The outlines of the last drags as the browser sent them; see `read_outlines`.
    """
    key = f"clicks_{chart}"

    def click() -> None:
        number = get_report(key, "clicked")
        if isinstance(number, int | float):
            on_click(int(number))

    get_component("clicks")(
        key=key,
        data={"chart": chart},
        on_clicked_change=click,
        on_outlines_change=ignore_report,
    )
    return get_report(key, "outlines")

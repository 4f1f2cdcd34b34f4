"""Filters of the examples: clickable rows, drags over charts, search, and order."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from areaviz.app.components import get_component, get_report, ignore_report
from areaviz.app.texts import pluralise
from areaviz.draw.charts import NO_GROUPS, Groups, compute_bin_edges, draw_histogram, draw_scatter
from areaviz.draw.labels import escape_controls
from areaviz.sets.app.state import (
    BEST_FIRST,
    DATASET_ORDER,
    WORST_FIRST,
    AnalysePage,
    RowFilter,
    clear_filter,
    filter_rows,
)
from areaviz.sets.buckets import colour_columns, colour_groups, find_joint_failures
from areaviz.sets.report import DEFAULT_METRIC
from areaviz.sets.roles import MAX_CATEGORIES
from areaviz.sets.table import list_measures, list_metadata_columns

# Clickable elements: rows of a table that the server sorts, and marks of a chart.


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
        key=key, data=data, on_opened_change=on_open, on_sorted_change=on_sort or ignore_report
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
        key=key, data={"chart": chart}, on_clicked_change=click, on_outlines_change=ignore_report
    )
    return get_report(key, "outlines")


# Outlines that a user drags over a chart, and the points within them.


Values = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]

# Limits: the browser sends at most 200 corners per outline, and users draw few outlines.
MAX_OUTLINES, MAX_CORNERS = 32, 256


@dataclass(frozen=True, slots=True)
class Outline:
    """A rectangle, given by two opposite corners, or a polygon with at least three corners.

    Args:
        x_C: horizontal positions of the corners.
        y_C: vertical positions of the corners.
    """

    x_C: Values
    y_C: Values

    def spans_x(self, x_P: Values) -> Flags:
        """Return which points are between the leftmost and the rightmost corner; NaN is not."""
        inside: Flags = (x_P >= self.x_C.min()) & (x_P <= self.x_C.max())
        return inside

    def contains(self, x_P: Values, y_P: Values) -> Flags:
        """Return which points are within the outline; NaN is not.

        A point is within a polygon if a ray from it crosses the border an odd number of times.
        """
        if len(self.x_C) == 2:
            return self.spans_x(x_P) & Outline(self.y_C, self.x_C).spans_x(y_P)
        inside_P = np.zeros(len(x_P), bool)
        for corner in range(len(self.x_C)):
            (x0, y0), (x1, y1) = self._get_corner(corner - 1), self._get_corner(corner)
            if y0 == y1:
                continue
            crossing_P = x0 + (y_P - y0) / (y1 - y0) * (x1 - x0)
            inside_P ^= ((y0 > y_P) != (y1 > y_P)) & (x_P < crossing_P)
        return inside_P

    def _get_corner(self, number: int) -> tuple[float, float]:
        return float(self.x_C[number]), float(self.y_C[number])


def read_outlines(reported: object) -> list[Outline]:
    """Return the outlines that a browser reported, without invalid ones."""
    if not isinstance(reported, Sequence) or isinstance(reported, str):
        return []
    found = []
    for one in reported[:MAX_OUTLINES]:
        try:
            x_C, y_C = np.array(one["x"], np.float64), np.array(one["y"], np.float64)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            continue
        if x_C.ndim != 1 or x_C.shape != y_C.shape or not 2 <= len(x_C) <= MAX_CORNERS:
            continue
        if np.isfinite(x_C).all() and np.isfinite(y_C).all():
            found.append(Outline(x_C, y_C))
    return found


# Charts and tables of an analysis that filter its examples by a drag or a click.
#
# The filter of a drag ends with the chart. A chart of other examples or another metric is a new
# one.


def draw_brushable_histogram(
    page: AnalysePage, table: pd.DataFrame, column: str, name: str, groups: Groups = NO_GROUPS
) -> pd.DataFrame:
    """Draw the distribution of a metric, and return the rows selected by a drag."""
    values = table[column].to_numpy(np.float32)
    title = f"{name} of {pluralise(len(table), 'example')}"
    note = "drag over the bars to keep these examples, click a bar, or double-click to keep all"
    key = _make_chart_key(f"bars_{column}", table)
    _draw_chart(draw_histogram(values, title, note, groups), title, key)
    reported = draw_chart_pointer(
        key, lambda bar: filter_rows(page, build_bar_filter(table, column, name, bar))
    )
    outlines = read_outlines(reported)
    if not outlines:
        return table
    return table.loc[np.any([outline.spans_x(values) for outline in outlines], axis=0)]


def build_bar_filter(table: pd.DataFrame, column: str, name: str, bar: int) -> RowFilter:
    """Return the examples in a bar, given the number of the bar."""
    values = table[column].to_numpy(np.float32)
    edges = compute_bin_edges(values)
    # The last bar includes its upper edge.
    bars = np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)
    found = table.loc[(bars == bar) & np.isfinite(values)]
    title = f"{name} {edges[bar]:.3g} to {edges[bar + 1]:.3g}"
    return RowFilter(title, tuple(int(place) for place in found.index), (f"bars {column}", bar))


def draw_brushable_scatter(
    page: AnalysePage,
    table: pd.DataFrame,
    columns: tuple[str, str],
    names: tuple[str, str],
    groups: Groups = NO_GROUPS,
) -> pd.DataFrame:
    """Draw two metrics, the horizontal one first, and return the rows selected by a drag."""
    across, up = columns
    x, y = table[across].to_numpy(np.float32), table[up].to_numpy(np.float32)
    title = f"{names[1]} against {names[0]}, {pluralise(len(table), 'example')}"
    is_same = across.rpartition("_")[0] == up.rpartition("_")[0] and "change" not in across + up
    figure = draw_scatter(x, y, table["name"].tolist(), names, title, is_same, groups)
    key = _make_chart_key(f"points_{across}_{up}", table)
    _draw_chart(figure, title, key)
    reported = draw_chart_pointer(key, lambda row: page.set(example=int(table.index[row])))
    outlines = read_outlines(reported)
    if not outlines:
        return table
    return table.loc[np.any([outline.contains(x, y) for outline in outlines], axis=0)]


def read_mark_number(customdata: object) -> int:
    """Return the number that was attached to a mark of a chart.

    The browser turns a list into an object with positions as keys. Depending on its version,
    Streamlit passes on a number, a list with one number, or such an object.
    """
    if isinstance(customdata, Mapping):
        customdata = list(customdata.values())
    if isinstance(customdata, Sequence):
        customdata = customdata[0]
    return int(str(customdata))


def _make_chart_key(name: str, table: pd.DataFrame) -> str:
    """Return the widget key of a chart of these examples."""
    return f"analyse_{name}_{zlib.crc32(table.index.to_numpy(np.int64).tobytes()):x}"


def _draw_chart(figure: Any, title: str, key: str) -> None:
    """Draw a figure whose drags and clicks `draw_chart_pointer` reports."""
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt=title)


def draw_filter_table(
    page: AnalysePage,
    label: str,
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    build_filter: Callable[[int], RowFilter],
    key: str,
) -> None:
    """Draw a table in which a click on a row keeps examples, or shows all again.

    Args:
        page: its state has the kept examples.
        label: the accessible name of the table.
        columns: its columns.
        cells: its rows, at least one.
        build_filter: returns the examples of a row, given its number.
        key: a widget key that is unique on the page.
    """
    numbers, kept = list(range(len(cells))), page.state.row_filter
    is_here = bool(numbers) and kept is not None and kept.chart[0] == build_filter(0).chart[0]
    chosen = kept.chart[1] if kept and is_here else None

    def click() -> None:
        number = get_clicked_row(key)
        if number in numbers:
            filter_rows(page, build_filter(number))

    draw_rows(label, TableContent(columns, cells, numbers, chosen), key=key, on_open=click)


# Filters and order of the table of examples: search, brush and metric.


def format_run_mark(run: int, runs: int) -> str:
    """Return the suffix of a run's columns, such as " (1)", or "" if there is only one run."""
    return f" ({run + 1})" if runs > 1 else ""


def list_measure_titles(table: pd.DataFrame, runs: int) -> dict[str, str]:
    """Return the titles of a table's metrics, by the names of their columns."""
    titles = {}
    for name, measure in list_measures(table).items():
        for run in range(runs):
            titles[f"{name}_{run}"] = measure.title + format_run_mark(run, runs)
        titles[f"{name}_change"] = f"{measure.title}, change"
    return {name: title for name, title in titles.items() if name in table}


def draw_search_and_filter(page: AnalysePage, table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Draw search, metric, plot and order. Return the rows that match the search and the brush."""
    titles = list_measure_titles(table, runs)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        label = "Search in texts and outputs"
        wanted = page.draw_widget(st.text_input, label, "search", width=220)
        if not titles:
            return _search_rows(table, wanted)
        if page.state.measure not in titles:
            page.set(measure=get_first_measure(table, titles))
        chosen = page.choose(st.selectbox, "Measure", "measure", titles, width=220)
        others = {name: title for name, title in titles.items() if name != chosen}
        against = page.choose_optional(
            "Plot against", "against", others, placeholder="none", width=200
        )
        colour = _choose_colour_column(page, table)
        page.choose(
            st.segmented_control, "Order", "order", _list_orders(page, table, chosen), required=True
        )
    table = _search_rows(table, wanted)
    if table.empty:
        return table
    groups = colour_groups(table, colour, list_metadata_columns(table)[colour]) if colour else {}
    if against is None:
        return draw_brushable_histogram(page, table, chosen, titles[chosen], groups)
    names = titles[against], titles[chosen]
    return draw_brushable_scatter(page, table, (against, chosen), names, groups)


def _choose_colour_column(page: AnalysePage, table: pd.DataFrame) -> str | None:
    """Let the user choose a metadata column whose values have colours in the plot."""
    columns = {name: escape_controls(title) for name, title in colour_columns(table).items()}
    if not columns:
        page.set(colour=None)
        return None
    return page.choose_optional("Colour by", "colour", columns, placeholder="none", width=160)


def get_first_measure(table: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Return the metric with which the table opens: for two systems a change, if there is one."""
    known = [name for name, one in list_measures(table).items() if one.better]
    if DEFAULT_METRIC in known:
        known.insert(0, DEFAULT_METRIC)
    columns = [f"{name}_change" for name in known]
    return next((one for one in columns if one in titles), next(iter(titles)))


def draw_metadata_filter(page: AnalysePage, table: pd.DataFrame) -> pd.DataFrame:
    """Draw a filter by metadata, and return the rows with the chosen values."""
    titles = {}
    for name, title in list_metadata_columns(table).items():
        # Numbers that all differ and free texts have no values to choose from.
        if len(_list_choices(table[name])) > 1:
            titles[name] = escape_controls(title)
    if not titles:
        return table
    if page.state.filter_column not in titles:
        page.set(filter_column=None, filter_values=())
    column = page.choose_optional(
        "Filter by",
        "filter_column",
        titles,
        placeholder="no column",
        width=220,
        after_change=lambda: page.set(filter_values=(), first_row=0),
    )
    if column is None:
        return table
    choices = _list_choices(table[column])
    kept = [value for value in page.state.filter_values if value in choices]
    page.set(filter_values=kept)
    wanted = page.draw_widget(
        st.multiselect,
        f"Values of {titles[column]}",
        "filter_values",
        choices,
        placeholder="all values",
        format_func=escape_controls,
        width=340,
    )
    if not wanted:
        return table
    found: pd.DataFrame = table[table[column].map(_format_choice).isin(wanted)]
    return found


def _list_choices(values: pd.Series) -> list[str]:
    """Return the values of a metadata column to choose from, [] if there are too many."""
    known = values.dropna().unique().tolist()
    found = sorted(value for value in known if value != "")
    return list(map(_format_choice, found)) if len(found) <= MAX_CATEGORIES else []


def _format_choice(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def sort_rows(page: AnalysePage, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the chosen order. Examples without the metric come last."""
    rises = get_sort_direction(page, table)
    if rises is None or page.state.measure not in table:
        return table
    return table.sort_values(page.state.measure, ascending=rises, kind="stable", na_position="last")


def get_sort_direction(page: AnalysePage, table: pd.DataFrame) -> bool | None:
    """Return whether the metric rises from row to row; None for the order of the dataset.

    There is no metric if no example could be run.
    """
    if page.state.order == DATASET_ORDER or page.state.measure not in table:
        return None
    # For a change, the largest loss comes first.
    is_low_good = _find_better_end(table, page.state.measure) == "low"
    return (page.state.order != BEST_FIRST) != is_low_good


def sort_by(page: AnalysePage, column: str) -> None:
    """Sort by a column whose header was clicked. Another click reverses the order."""
    if column == page.state.measure and page.state.order == WORST_FIRST:
        page.set(order=BEST_FIRST, first_row=0)
    elif column:
        page.set(measure=column, order=WORST_FIRST, first_row=0)


def draw_failing_filter(page: AnalysePage, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in which all systems fail by the chosen metric, if only these are wanted.

    This filter applies after clicks, search and brush, so it finds failures in any bucket.
    """
    name = page.state.measure.rpartition("_")[0]
    better = _find_better_end(table, page.state.measure)
    if not better or f"{name}_1" not in table:
        return table
    places, limit = find_joint_failures(table, name, better)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        everybody = "both" if f"{name}_2" not in table else "all systems"
        is_wanted = page.draw_widget(st.toggle, f"Only where {everybody} fail", "both_fail")
        if is_wanted and np.isfinite(limit):
            title = list_measures(table)[name].title
            beyond = "at least" if better == "low" else "at most"
            st.caption(
                f"{pluralise(len(places), 'example')} with a {title} of {everybody} of {beyond}"
                f" {limit:.3g}, as the worst quarter of all outputs has",
                width="content",
            )
    return table[table.index.isin(places)] if is_wanted else table


def draw_kept_filter(page: AnalysePage, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a click on a bucket or on words selects. Draw a button to show all."""
    row_filter = page.state.row_filter
    if row_filter is None:
        return table
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(f"Only {row_filter.title}", color="gray")
        st.button("Show all again", key="analyse_let_go", on_click=clear_filter, args=(page,))
    return table[table.index.isin(row_filter.places)]


def _find_better_end(table: pd.DataFrame, column: str) -> str:
    """Return which values of a metric are better: "high", "low" or "" if neither."""
    measure = list_measures(table).get(column.rpartition("_")[0])
    return measure.better if measure else ""


def _list_orders(page: AnalysePage, table: pd.DataFrame, column: str) -> dict[str, str]:
    """Return the orders by a metric with their labels."""
    if _find_better_end(table, column) and column.endswith("_change"):
        who = f"({page.state.second + 1})"
        return {
            WORST_FIRST: f"{who} worse first",
            BEST_FIRST: f"{who} better first",
            DATASET_ORDER: "As given",
        }
    if _find_better_end(table, column):
        return {WORST_FIRST: "Worst first", BEST_FIRST: "Best first", DATASET_ORDER: "As given"}
    return {WORST_FIRST: "Lowest first", BEST_FIRST: "Highest first", DATASET_ORDER: "As given"}


def _search_rows(table: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """Return the rows in which some text contains the search text."""
    if not wanted:
        return table
    texts = table.filter(regex="^(name|text|reference|output_)")
    hits = texts.apply(lambda text: text.str.contains(wanted, case=False, regex=False))
    found: pd.DataFrame = table[hits.any(axis=1)]
    return found

"""Charts and tables of an analysis that filter its examples by a drag or a click.

The filter of a drag ends with the chart. A chart of other examples or another metric is a new one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.app.texts import pluralise
from areaviz.draw.charts import NO_GROUPS, Groups, compute_bin_edges, draw_histogram, draw_scatter
from areaviz.ui.analyse.outlines import read_outlines
from areaviz.ui.analyse.state import AnalysePage, RowFilter, filter_rows
from areaviz.ui.components.rows import (
    Column,
    TableContent,
    draw_chart_pointer,
    draw_rows,
    get_clicked_row,
)


def draw_brushable_histogram(
    page: AnalysePage,
    table: pd.DataFrame,
    column: str,
    name: str,
    groups: Groups = NO_GROUPS,
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

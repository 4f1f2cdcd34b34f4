"""Charts of an analysis that keep a part of its examples: by a drag over them, or by a click.

What a drag keeps ends with the chart: other examples, or another measure, are another chart.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from areaviz.ui.analyse.outlines import read_outlines
from areaviz.ui.analyse.state import AnalysePage, Kept, keep_rows
from areaviz.ui.components.rows import chart_pointer
from areaviz.ui.shell.markdown import counted
from areaviz.views.charts import NO_GROUPS, Groups, bin_edges, histogram, scatter


def brushed_bars(
    page: AnalysePage,
    table: pd.DataFrame,
    column: str,
    name: str,
    groups: Groups = NO_GROUPS,
) -> pd.DataFrame:
    """Draw how one measure is spread; returns the rows that a drag over it keeps.

    Args:
        page: keeps the examples of a bar that is clicked.
        table: the rows to choose from.
        column: of the measure.
        name: of the measure, for people.
        groups: of the rows that have a colour each.
    """
    values = table[column].to_numpy(np.float32)
    title = f"{name} of {counted(len(table), 'example')}"
    note = "drag over the bars to keep these examples, or click one; double-click to keep all"
    key = _key(f"bars_{column}", table)
    _draw(histogram(values, title, note, groups), title, key)
    reported = chart_pointer(key, lambda bar: keep_rows(page, bar_of(table, column, name, bar)))
    outlines = read_outlines(reported)
    if not outlines:
        return table
    return _those(table, np.any([outline.spans_x(values) for outline in outlines], axis=0))


def bar_of(table: pd.DataFrame, column: str, name: str, bar: int) -> Kept:
    """The examples of a bar, by its number."""
    values = table[column].to_numpy(np.float32)
    edges = bin_edges(values)
    # What lies on the upper edge belongs to the last bar.
    bars = np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)
    rows = _those(table, (bars == bar) & np.isfinite(values))
    title = f"{name} {edges[bar]:.3g} to {edges[bar + 1]:.3g}"
    return Kept(title, tuple(int(place) for place in rows.index), (f"bars {column}", bar))


def brushed_points(
    page: AnalysePage,
    table: pd.DataFrame,
    columns: tuple[str, str],
    names: tuple[str, str],
    groups: Groups = NO_GROUPS,
) -> pd.DataFrame:
    """Draw how two measures go together; returns the rows that a drag over it keeps.

    Args:
        page: opens the example of a point that is clicked.
        table: the rows to choose from.
        columns: of the measures, the one across first.
        names: of the measures, for people.
        groups: of the rows that have a colour each.
    """
    across, up = columns
    x, y = table[across].to_numpy(np.float32), table[up].to_numpy(np.float32)
    title = f"{names[1]} against {names[0]}, {counted(len(table), 'example')}"
    is_same = across.rpartition("_")[0] == up.rpartition("_")[0] and "change" not in across + up
    figure = scatter(x, y, table["name"].tolist(), names, title, is_same, groups)
    key = _key(f"points_{across}_{up}", table)
    _draw(figure, title, key)
    reported = chart_pointer(key, lambda row: page.set(example=int(table.index[row])))
    outlines = read_outlines(reported)
    if not outlines:
        return table
    return _those(table, np.any([outline.contains(x, y) for outline in outlines], axis=0))


def _those(table: pd.DataFrame, is_kept: NDArray[np.bool_]) -> pd.DataFrame:
    return table.loc[is_kept]


def place_of(customdata: object) -> int:
    """The number that a mark of a chart was drawn with, in any form that comes back for it.

    Of a list the browser makes an object with the places as names, and what of it arrives depends
    on the version of Streamlit: a number, a list of one, or such an object.
    """
    if isinstance(customdata, Mapping):
        customdata = list(customdata.values())
    if isinstance(customdata, Sequence):
        customdata = customdata[0]
    return int(str(customdata))


def _key(name: str, table: pd.DataFrame) -> str:
    """The key of a chart of these examples."""
    return f"analyse_{name}_{zlib.crc32(table.index.to_numpy(np.int64).tobytes()):x}"


def _draw(figure: Any, title: str, key: str) -> None:
    """Draw a figure whose drags and clicks `chart_pointer` reports."""
    st.plotly_chart(figure, key=key, config={"displayModeBar": False}, alt=title)

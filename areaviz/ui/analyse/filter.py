"""Which examples of an analysis are looked at: a search, a brush over one or two measures, and
their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.measures import MEASURES
from areaviz.analysis.table import CIDER
from areaviz.views.charts import histogram, scatter

SEARCH, MEASURE, AGAINST, ORDER = (
    f"analyse_{name}" for name in ("search", "measure", "against", "order")
)
TITLES = {name: measure.title for name, measure in MEASURES.items()} | {CIDER: "CIDEr-D"}
WORST, BEST, AS_GIVEN = "Worst first", "Best first", "As given"
_CONFIG = {"displayModeBar": False}


def filtered(table: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """The rows that search and brush leave, in the chosen order."""
    columns = {column: name for column in map(str, table) if (name := _name(column, titles))}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        wanted = st.text_input("Search in texts and outputs", key=SEARCH, width=220)
        chosen = st.selectbox(
            "Measure",
            list(columns),
            key=f"{MEASURE}_{len(titles)}",
            format_func=columns.__getitem__,
            width=220,
        )
        others = [column for column in columns if column != chosen]
        against = st.selectbox(
            "Against",
            others,
            key=f"{AGAINST}_{len(titles)}",
            index=None,
            placeholder="–",
            format_func=columns.__getitem__,
            width=200,
        )
        order = st.segmented_control(
            "Order", [WORST, BEST, AS_GIVEN], key=ORDER, default=WORST, required=True
        )
    if wanted:
        table = _searched(table, wanted)
    if not chosen or table.empty:
        return table
    left = (
        _between(table, chosen, against, columns) if against else _brushed(table, chosen, columns)
    )
    return _ordered(left, chosen, order or WORST)


def _name(column: str, titles: Sequence[str]) -> str:
    """What a column of figures is called; "" for one of texts."""
    measure, _, part = column.rpartition("_")
    if measure not in TITLES:
        return ""
    if part == "change":
        return f"{TITLES[measure]}, change"
    return TITLES[measure] if len(titles) == 1 else f"{TITLES[measure]} ({int(part) + 1})"


def _searched(table: pd.DataFrame, wanted: str) -> pd.DataFrame:
    texts = table.filter(regex="^(name|text|reference|output_)")
    found: pd.DataFrame = table[
        texts.apply(lambda c: c.str.contains(wanted, case=False, regex=False)).any(axis=1)
    ]
    return found


def _brushed(table: pd.DataFrame, column: str, columns: dict[str, str]) -> pd.DataFrame:
    """How one measure is spread; a drag keeps a part of it."""
    values = {columns[column]: table[column].to_numpy(np.float32)}
    title = f"{columns[column]} of {len(table):,} examples"
    figure = histogram(
        values, title, "drag over the bars to keep these examples; double-click to keep all"
    )
    event = st.plotly_chart(
        figure,
        key=f"analyse_bars_{column}",
        on_select="rerun",
        selection_mode="box",
        config=_CONFIG,
        alt=title,
    )
    boxes = event["selection"]["box"]
    return table[table[column].between(*sorted(boxes[0]["x"]))] if boxes else table


def _between(
    table: pd.DataFrame, column: str, against: str, columns: dict[str, str]
) -> pd.DataFrame:
    """How two measures go together; a drag keeps a part of the examples."""
    x, y = (table[name].to_numpy(np.float32) for name in (against, column))
    title = f"{columns[column]} against {columns[against]}, {len(table):,} examples"
    figure = scatter(x, y, table["name"].tolist(), (columns[against], columns[column]), title)
    event = st.plotly_chart(
        figure,
        key=f"analyse_points_{column}_{against}",
        on_select="rerun",
        selection_mode=("box", "lasso"),
        config=_CONFIG,
        alt=title,
    )
    points = event["selection"]["points"]
    return table.iloc[sorted(point["customdata"][0] for point in points)] if points else table


def _ordered(table: pd.DataFrame, column: str, order: str) -> pd.DataFrame:
    """By a measure, as it is good when it is high or low; of a change, what was lost first."""
    if order == AS_GIVEN:
        return table
    measure = column.rpartition("_")[0]
    falls = measure in MEASURES and MEASURES[measure].better == "low"
    return table.sort_values(
        column, ascending=(order == WORST) != falls, kind="stable", na_position="last"
    )

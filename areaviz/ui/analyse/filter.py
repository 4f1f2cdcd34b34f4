"""Filters and order of the table of examples: search, brush and metric."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.colour_groups import colour_columns, colour_groups
from areaviz.analysis.model_comparison import find_joint_failures
from areaviz.analysis.report_content import DEFAULT_METRIC
from areaviz.analysis.table import list_measures, list_metadata_columns
from areaviz.app.texts import pluralise
from areaviz.data.metadata import MAX_CATEGORIES
from areaviz.draw.labels import escape_controls
from areaviz.ui.analyse.brush import draw_brushable_histogram, draw_brushable_scatter
from areaviz.ui.analyse.state import (
    BEST_FIRST,
    DATASET_ORDER,
    WORST_FIRST,
    AnalysePage,
    clear_filter,
)


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
    return table.sort_values(
        page.state.measure,
        ascending=rises,
        kind="stable",
        na_position="last",
    )


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

"""What came of an analysis: figures of the whole set, brushes and filters, a table, and every example in its viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.measures import MEASURES
from areaviz.analysis.rows import Row
from areaviz.analysis.table import CIDER, summary, table_of
from areaviz.backend.base import Backend
from areaviz.data.examples import Dataset
from areaviz.trace.request import Request
from areaviz.ui.explore import explore
from areaviz.ui.plain import escaped, visible
from areaviz.views.distribution import histogram

SEARCH, MEASURE, PLACE = "analyse_search", "analyse_measure", "analyse_place"
TITLES = {name: measure.title for name, measure in MEASURES.items()} | {CIDER: "CIDEr-D"}
FIGURES = {
    "examples": "Examples",
    "failed": "Not run",
    "corpus_bleu": "BLEU, whole set",
    "corpus_chrf": "chrF, whole set",
}


def result(
    backend: Backend,
    dataset: Dataset,
    requests: Sequence[Request],
    runs: Sequence[Mapping[int, Row]],
    titles: Sequence[str],
) -> None:
    """Draw all of it."""
    st.subheader("The whole set", anchor=False)
    _figures(dataset, runs, titles)
    st.subheader("Example by example", anchor=False)
    table = table_of(dataset, runs)
    chosen = _filtered(table, titles)
    index = _table(chosen, titles)
    if index is not None:
        _opened(backend, dataset, requests, titles, index)


def _figures(dataset: Dataset, runs: Sequence[Mapping[int, Row]], titles: Sequence[str]) -> None:
    found = [summary(dataset, rows) for rows in runs]
    names = [name for name in (*FIGURES, *TITLES) if any(name in figures for figures in found)]
    columns = {"Measure": [(FIGURES | TITLES)[name] for name in names]}
    for number, (title, figures) in enumerate(zip(titles, found, strict=True)):
        columns[title if titles.count(title) == 1 else f"{title} ({number + 1})"] = [
            _number(figures.get(name)) for name in names
        ]
    st.table(columns, border="horizontal", hide_index=True)


def _number(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:.3g}"


def _filtered(table: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """The rows that the search and the brush leave."""
    with st.container(horizontal=True, gap="medium"):
        wanted = st.text_input("Search in texts and outputs", key=SEARCH, width=345)
        offered = [name for name in TITLES if f"{name}_0" in table]
        name = st.selectbox("Measure", offered, key=MEASURE, format_func=TITLES.__getitem__, width=345)
    if wanted:
        texts = table.filter(regex="^(name|text|reference|output_)")
        table = table[texts.apply(lambda column: column.str.contains(wanted, case=False, regex=False)).any(axis=1)]
    if not name or table.empty:
        return table
    columns = {title: table[f"{name}_{run}"].to_numpy(np.float32) for run, title in enumerate(titles)}
    figure = histogram(
        columns, f"{TITLES[name]} of {len(table):,} examples", "drag over the bars to keep these examples"
    )
    event = st.plotly_chart(
        figure, key=f"analyse_brush_{name}", on_select="rerun", selection_mode="box", config={"displayModeBar": False}
    )
    boxes = event["selection"]["box"]
    if boxes:
        low, high = sorted(boxes[0]["x"])
        inside = [table[f"{name}_{run}"].between(low, high) for run in range(len(titles))]
        table = table[np.logical_or.reduce(inside)]
    return table


def _table(table: pd.DataFrame, titles: Sequence[str]) -> int | None:
    """The rows; returns the place in the set of the one that is chosen."""
    names = {"name": "Example", "text": "Source", "reference": "Reference"}
    for run in range(len(titles)):
        mark = f" ({run + 1})" if len(titles) > 1 else ""
        names |= {f"output_{run}": f"Output{mark}", f"error_{run}": f"Not run{mark}"}
        names |= {f"{name}_{run}": f"{title}{mark}" for name, title in TITLES.items()}
    names |= {f"{name}_change": f"{title}, change" for name, title in TITLES.items()}
    shown = table[[name for name in names if name in table and not _empty(table[name])]].rename(columns=names)
    shown = shown.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    event = st.dataframe(shown, hide_index=True, key="analyse_table", on_select="rerun", selection_mode="single-row")
    rows = event["selection"]["rows"]
    return int(table.index[rows[0]]) if rows and rows[0] < len(table) else None


def _empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or (column == "").all())


def _opened(backend: Backend, dataset: Dataset, requests: Sequence[Request], titles: Sequence[str], index: int) -> None:
    """One example in the viewer of its traces."""
    example = dataset.examples[index]
    st.subheader(f"Example {escaped(example.name)}", anchor=False)
    for reference in example.references[:3]:
        st.caption(f"Reference: {escaped(reference)}")
    asked = [replace(request, text=example.text, picture=dataset.picture(example)) for request in requests]
    with st.spinner("Running the example"):
        traces = [backend.trace(request) for request in asked]
    explore(traces, titles, None)

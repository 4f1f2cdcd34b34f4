"""The examples of an analysis as a table, one of them opened, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from areaviz.backend.base import Backend
from areaviz.data.examples import Dataset, Example
from areaviz.trace.request import Request
from areaviz.ui.analyse.filter import TITLES
from areaviz.ui.analyse.notes import notes_on
from areaviz.ui.look.explore import explore
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.page import open_page
from areaviz.ui.shell.waiting import traced

TABLE, OPENED, ORDERED = "analyse_table", "analyse_opened", "analyse_listed"
MOST_REFERENCES = 3
HEIGHT, ROW = 330, 35  # px


def step_through(table: pd.DataFrame, runs: int) -> int | None:
    """Draw the table; returns the place in the set of the example that is opened, or None."""
    st.caption(f"{len(table):,} examples. Choose one to look inside.")
    names = _names(runs)
    shown = table[[name for name in names if name in table and not _empty(table[name])]].rename(
        columns=names
    )
    for name in shown.select_dtypes(exclude="number"):
        shown[name] = shown[name].map(visible)
    st.dataframe(
        shown,
        hide_index=True,
        height=min(HEIGHT, ROW * (len(shown) + 1) + 3),
        key=TABLE,
        on_select=_choose,
        selection_mode="single-row",
        column_config={
            str(name): st.column_config.NumberColumn(format="%.3g")
            for name in shown
            if shown[name].dtype == float
        },
    )
    st.session_state[ORDERED] = [int(index) for index in table.index]
    return st.session_state.get(OPENED)


def _names(runs: int) -> dict[str, str]:
    """Columns that are shown, by what they are called: texts first, then what was written, then
    figures.
    """
    marks = [f" ({run + 1})" if runs > 1 else "" for run in range(runs)]
    names = {"name": "Example", "text": "Source"}
    for run, mark in enumerate(marks):
        names |= {f"output_{run}": f"Output{mark}", f"error_{run}": f"Not run{mark}"}
    names |= {"reference": "Reference"}
    for name, title in TITLES.items():
        names |= {f"{name}_{run}": f"{title}{mark}" for run, mark in enumerate(marks)} | {
            f"{name}_change": f"{title}, change"
        }
    return names


def _empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or (column == "").all())


def _choose() -> None:
    rows = st.session_state[TABLE]["selection"]["rows"]
    order = st.session_state.get(ORDERED, [])
    st.session_state[OPENED] = order[rows[0]] if rows and rows[0] < len(order) else None


def opened(
    backend: Backend,
    dataset: Dataset,
    requests: Sequence[Request],
    titles: Sequence[str],
    index: int,
) -> None:
    """One example in the viewer of its traces, with the way to its neighbours in the table."""
    example = dataset.examples[index]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(f"Example {escaped(example.name)}", anchor=False, width="content")
        _neighbours(index)
    _about(example)
    with show_errors("reading the notes"):
        notes_on(dataset.digest, index, [request.model for request in requests], titles)
    asked = [
        replace(request, text=example.text, picture=dataset.picture(example))
        for request in requests
    ]
    explore(open_page(), traced(backend, asked, "Running the example"), titles)


def _neighbours(index: int) -> None:
    """Buttons to the example before and behind in the table's order; none where it is not in the
    table any more.
    """
    order = st.session_state.get(ORDERED, [])
    place = order.index(index) if index in order else None
    before = None if place is None or not place else order[place - 1]
    behind = None if place is None or place + 1 == len(order) else order[place + 1]
    for label, key, there in (("Previous", "K", before), ("Next", "J", behind)):
        st.button(label, shortcut=key, disabled=there is None, on_click=_open, args=(there,))
    if place is not None:
        st.caption(f"{place + 1:,} of {len(order):,}")


def _open(index: int | None) -> None:
    st.session_state[OPENED] = index


def _about(example: Example) -> None:
    for reference in example.references[:MOST_REFERENCES]:
        st.caption(f"Reference: {escaped(reference)}")
    more = len(example.references) - MOST_REFERENCES
    if more > 0:
        st.caption(f"and {more} more")

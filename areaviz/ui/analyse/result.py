"""What came of an analysis: figures of the whole set, filters, a table, an opened example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.table import ALL_MEASURES, CIDER
from areaviz.backend.base import Backend
from areaviz.data.examples import Dataset, Example
from areaviz.ui.analyse.contrast import against, by_bucket
from areaviz.ui.analyse.filter import (
    filtered,
    in_slice,
    measure_titles,
    run_mark,
    save_slice,
    slice_table,
    slices_of,
    three_digits,
)
from areaviz.ui.analyse.notes import exchange, notes_on
from areaviz.ui.analyse.stored import Analysis, StoredRows, examples_table, figures
from areaviz.ui.look.explore import explore
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.page import open_page
from areaviz.ui.shell.waiting import traced

TABLE = "analyse_table"
# In the session: the place of the opened example in the set, and the places that are listed.
OPENED, LISTED = "analyse_opened", "analyse_listed"
MAX_REFERENCES = 3
# Pixels of the table, and of one of its rows.
HEIGHT, ROW = 330, 35
# Shown first, a column each: of the whole set, not the mean of its sentences where both differ.
WHOLE = {
    "examples": "Examples",
    "failed": "Not run",
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "alignment_error": "Alignment error",
    "confidence": "Confidence",
}


def result(backend: Backend, analyses: Sequence[Analysis], runs: tuple[StoredRows, ...]) -> None:
    """Draw all of it.

    Args:
        backend: runs an example that is opened.
        analyses: of one set.
        runs: the rows of each.
    """
    dataset, titles = runs[0].dataset, [analysis.title for analysis in analyses]
    slices = slices_of(dataset.digest)
    st.subheader("The whole set", anchor=False)
    _whole_set(runs, titles)
    slice_table(runs, slices)
    st.subheader("Example by example", anchor=False)
    table = in_slice(examples_table(runs), slices)
    chosen = filtered(table, len(runs))
    _examples(chosen, len(runs))
    save_slice(dataset.digest, chosen)
    by_bucket(chosen, titles)
    against(chosen, titles)
    exchange(dataset.digest)
    index: int | None = st.session_state.get(OPENED)
    if index is not None and index < len(dataset.examples):
        _opened(backend, dataset, analyses, index)


def _whole_set(runs: Sequence[StoredRows], titles: Sequence[str]) -> None:
    found = pd.DataFrame([figures(run) for run in runs])
    whole = found[[name for name in WHOLE if name in found]].map(_number).rename(columns=WHOLE)
    whole.insert(0, "Model", titles)
    st.table(whole, border="horizontal", hide_index=True)
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        names = [name for name in ALL_MEASURES if name in found]
        means = found[names].map(_number).T
        # Columns need names of their own, and two models may have one title.
        if len(set(titles)) < len(titles):
            titles = [title + run_mark(run, len(runs)) for run, title in enumerate(titles)]
        means.columns = pd.Index(titles)
        means.insert(0, "Measure", [ALL_MEASURES[name].title for name in names])
        means["What it is"] = [ALL_MEASURES[name].about for name in names]
        st.table(means, border="horizontal", hide_index=True)


def _number(value: float) -> str:
    """A figure in three digits; a dash for none."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def _examples(table: pd.DataFrame, runs: int) -> None:
    """The table of examples, one of which can be opened: texts, then outputs, then figures."""
    st.caption(f"{len(table):,} examples. Choose one to look inside.")
    names = {"name": "Example", "text": "Source"}
    for run in range(runs):
        names[f"output_{run}"] = f"Output{run_mark(run, runs)}"
        names[f"error_{run}"] = f"Not run{run_mark(run, runs)}"
    names |= {"reference": "Reference", **measure_titles(runs)}
    columns = [name for name in names if name in table and not _is_empty(table[name])]
    shown = table[columns].rename(columns=names)
    for name in shown.select_dtypes(exclude="number"):
        shown[name] = shown[name].map(visible)
    st.dataframe(
        shown,
        hide_index=True,
        height=min(HEIGHT, ROW * (len(shown) + 1) + 3),
        key=TABLE,
        on_select=_choose,
        selection_mode="single-row",
        column_config=three_digits(shown),
    )
    st.session_state[LISTED] = [int(index) for index in table.index]


def _is_empty(column: pd.Series) -> bool:
    return bool(column.isna().all() or (column == "").all())


def _choose() -> None:
    rows = st.session_state[TABLE]["selection"]["rows"]
    listed = st.session_state.get(LISTED, [])
    _open(listed[rows[0]] if rows and rows[0] < len(listed) else None)


def _open(index: int | None) -> None:
    st.session_state[OPENED] = index


def _opened(
    backend: Backend,
    dataset: Dataset,
    analyses: Sequence[Analysis],
    index: int,
) -> None:
    """One example in the viewer of its traces, with the way to its neighbours in the table."""
    example = dataset.examples[index]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.subheader(f"Example {escaped(example.name)}", anchor=False, width="content")
        _neighbours(index)
    _references(example)
    with show_errors("reading the notes"):
        models = {analysis.request.model: analysis.title for analysis in analyses}
        notes_on(dataset.digest, index, models)
    picture, titles = dataset.picture(example), [analysis.title for analysis in analyses]
    own = [replace(one.request, text=example.text, picture=picture) for one in analyses]
    explore(open_page(), traced(backend, own, "Running the example"), titles)


def _neighbours(index: int) -> None:
    """Buttons to the examples before and after it in the table, as far as it is listed there."""
    listed = st.session_state.get(LISTED, [])
    place = listed.index(index) if index in listed else -1
    before = listed[place - 1] if place > 0 else None
    after = listed[place + 1] if 0 <= place < len(listed) - 1 else None
    for label, key, there in (("Previous", "K", before), ("Next", "J", after)):
        st.button(
            label,
            shortcut=key,
            disabled=there is None,
            on_click=_open,
            args=(there,),
        )
    if place >= 0:
        st.caption(f"{place + 1:,} of {len(listed):,}")


def _references(example: Example) -> None:
    for reference in example.references[:MAX_REFERENCES]:
        st.caption(f"Reference: {escaped(reference)}")
    more = len(example.references) - MAX_REFERENCES
    if more > 0:
        st.caption(f"and {more} more")

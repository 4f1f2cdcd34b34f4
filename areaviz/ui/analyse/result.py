"""What came of an analysis: figures of the whole set, filters, a table, an opened example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.table import ALL_MEASURES, CIDER
from areaviz.backend.base import Backend
from areaviz.ui.analyse.by_bucket import by_bucket
from areaviz.ui.analyse.contrast import against
from areaviz.ui.analyse.examples import examples_list, open_example, table_button
from areaviz.ui.analyse.filter import in_order, kept_rows, searched
from areaviz.ui.analyse.notes_files import exchange
from areaviz.ui.analyse.slices import in_slice, save_slice, slice_table, slices_of
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored import Analysis, StoredRows, examples_table, figures
from areaviz.ui.shell.table import read_table

# Shown first, a column each: of the whole set, not the mean of its sentences where both differ.
WHOLE = {
    "examples": "Examples",
    "failed": "Not run",
    "spoken_error": "Error",
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "alignment_error": "Alignment error",
    "confidence": "Confidence",
}


def result(
    page: AnalysePage,
    backend: Backend,
    analyses: Sequence[Analysis],
    runs: tuple[StoredRows, ...],
) -> None:
    """Draw all of it.

    Args:
        page: holds what is looked at.
        backend: runs an example that is opened.
        analyses: of one set.
        runs: the rows of each.
    """
    dataset, titles = runs[0].dataset, [analysis.title for analysis in analyses]
    slices = slices_of(dataset.digest)
    st.header("The whole set", anchor=False)
    _whole_set(runs, titles)
    slice_table(runs, slices)
    st.header("Example by example", anchor=False)
    table = in_slice(page, examples_table(runs), slices)
    found = searched(page, table, len(runs))
    chosen = in_order(page, kept_rows(page, found))
    examples_list(page, chosen, len(runs))
    if len(chosen):
        with st.container(horizontal=True):
            save_slice(dataset.digest, chosen)
            table_button(chosen)
    open_example(page, backend, analyses, runs, [int(place) for place in chosen.index])
    by_bucket(page, found, titles)
    against(page, found, titles)
    exchange(dataset, analyses, runs)


def _whole_set(runs: Sequence[StoredRows], titles: Sequence[str]) -> None:
    found = pd.DataFrame([figures(run) for run in runs])
    whole = found[[name for name in WHOLE if name in found]].map(_number).rename(columns=WHOLE)
    numbered = list(titles)
    if len(titles) > 1:
        numbered = [f"({run + 1}) {title}" for run, title in enumerate(titles)]
    whole.insert(0, "System", numbered)
    read_table(whole)
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        names = [name for name in ALL_MEASURES if name in found]
        means = found[names].map(_number).T
        # Columns need names of their own, and two models may have one title.
        means.columns = pd.Index(numbered)
        means.insert(0, "Measure", [ALL_MEASURES[name].title for name in names])
        means["What it is"] = [ALL_MEASURES[name].about for name in names]
        read_table(means)


def _number(value: float) -> str:
    """A figure in three digits; a dash for none."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"

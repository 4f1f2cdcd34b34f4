"""The results of an analysis: scores of the whole dataset, filters, table and open example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.table import WHOLE, measures_of
from areaviz.analysis.themes.theme import Themes
from areaviz.backend.base import Backend
from areaviz.ui.analyse.beside import untrained_sentences
from areaviz.ui.analyse.blind import show_key, without_measures
from areaviz.ui.analyse.by_bucket import by_bucket
from areaviz.ui.analyse.contrast import against, choose_pair
from areaviz.ui.analyse.examples import examples_list, open_example, table_button
from areaviz.ui.analyse.filter import failing_rows, in_order, kept_rows, searched, with_metadata
from areaviz.ui.analyse.guest import can_write
from areaviz.ui.analyse.judged import exchange_errors, measured, raters, report_button
from areaviz.ui.analyse.notes_files import exchange
from areaviz.ui.analyse.slices import in_slice, save_slice, slice_table, slices_of, value_slices
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored import Analysis, StoredRows, figures, judgements_of
from areaviz.ui.analyse.themes import show_themes
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.table import read_table


def result(
    page: AnalysePage,
    backend: Backend,
    analyses: Sequence[Analysis],
    runs: tuple[StoredRows, ...],
    corpus: Frequency | None = None,
) -> None:
    """Draw all results.

    Args:
        page: the page with its state.
        backend: runs an example when it is opened.
        analyses: the analyses of one dataset.
        runs: the rows of each.
        corpus: word frequencies of a corpus; None uses those of the references.
    """
    dataset, titles = runs[0].dataset, [analysis.title for analysis in analyses]
    # A saved slice has priority over a metadata value with an equal name.
    slices = {**value_slices(dataset), **slices_of(dataset.digest)}
    judgements = judgements_of(dataset.digest)
    whole, themes = measured(analyses, runs, judgements), tuple[Themes, ...]()
    if page.state.is_blind:
        whole = without_measures(whole)
    else:
        st.header("The whole set", anchor=False)
        _whole_set(runs, whole, titles)
        _beside(backend, analyses, whole)
        show_key(dataset.digest, analyses)
        raters(judgements, analyses, runs)
        slice_table(runs, slices)
        whole = choose_pair(page, whole, titles)
        themes = show_themes(page, backend, analyses, dataset, whole)
    st.header("Example by example", anchor=False)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        table = with_metadata(page, in_slice(page, whole, slices))
    found = searched(page, table, len(runs))
    chosen = in_order(page, failing_rows(page, kept_rows(page, found)))
    examples_list(page, chosen, len(runs))
    if len(chosen):
        with st.container(horizontal=True):
            if can_write():
                save_slice(dataset.digest, chosen)
            if not page.state.is_blind:
                table_button(page, chosen, len(runs))
                report_button(page, analyses, runs, judgements, found, corpus, themes)
    open_example(page, backend, analyses, runs, [int(place) for place in chosen.index], whole)
    if not page.state.is_blind:
        by_bucket(page, found, titles, corpus)
        against(page, found, titles)
    if can_write():
        exchange(dataset, analyses, runs)
        exchange_errors(analyses, runs, judgements)


def _whole_set(runs: Sequence[StoredRows], table: pd.DataFrame, titles: Sequence[str]) -> None:
    found = pd.DataFrame([figures(run) for run in runs])
    whole = found[[name for name in WHOLE if name in found]].map(_number).rename(columns=WHOLE)
    numbered = list(titles)
    if len(titles) > 1:
        numbered = [f"({run + 1}) {title}" for run, title in enumerate(titles)]
    whole.insert(0, "System", numbered)
    read_table(whole)
    measures = measures_of(table)
    if not measures:
        # No example could be run.
        return
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        names = list(measures)
        means = pd.DataFrame(
            [[table[f"{name}_{run}"].mean() for run in range(len(runs))] for name in names]
        ).map(_number)
        # Columns need unique names, and two models may have equal titles.
        means.columns = pd.Index(numbered)
        means.insert(0, "Measure", [one.title for one in measures.values()])
        means["What it is"] = [one.about for one in measures.values()]
        read_table(means)


def _beside(backend: Backend, analyses: Sequence[Analysis], table: pd.DataFrame) -> None:
    """Say what the models reach before training, if alignment or pointing was measured."""
    named = {one.request.model for one in analyses if one.request is not None}
    cards = [card for name, card in backend.models().items() if name in named]
    for sentence in untrained_sentences(cards, measures_of(table)):
        st.caption(escaped(sentence))


def _number(value: float) -> str:
    """Return a number with three digits, a dash for NaN."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"

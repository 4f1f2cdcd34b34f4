"""The results of an analysis: scores of the whole dataset, filters, table and open example."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.table import WHOLE, list_measures
from areaviz.analysis.themes.theme import Themes
from areaviz.backend.base import Backend
from areaviz.drawing.numbers import format_three_digits
from areaviz.ui.analyse.blind import show_key, without_measures
from areaviz.ui.analyse.by_bucket import by_bucket
from areaviz.ui.analyse.examples import examples_list, open_example, table_button
from areaviz.ui.analyse.filter import failing_rows, in_order, kept_rows, searched, with_metadata
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.notes_exchange import exchange_errors, exchange_notes
from areaviz.ui.analyse.rating_summary import measured, raters, report_button
from areaviz.ui.analyse.slices import in_slice, save_slice, slice_table, slices_of, value_slices
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import figures, judgements_of
from areaviz.ui.analyse.system_comparison import against, choose_pair
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.analyse.themes import show_themes
from areaviz.ui.analyse.untrained_comparison import untrained_sentences
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.table import read_table


def result(
    page: AnalysePage, backend: Backend, systems: Systems, corpus: Frequency | None = None
) -> None:
    """Draw all results. Word frequencies come from the corpus, or else from the references."""
    dataset, runs, titles = systems.dataset, systems.runs, systems.titles
    # A saved slice has priority over a metadata value with an equal name.
    slices = {**value_slices(dataset), **slices_of(dataset.digest)}
    judgements = judgements_of(dataset.digest)
    whole, themes = measured(systems, judgements), tuple[Themes, ...]()
    if page.state.is_blind:
        whole = without_measures(whole)
    else:
        st.header("The whole set", anchor=False)
        _whole_set(systems, whole)
        _beside(backend, systems, whole)
        show_key(systems)
        raters(systems, judgements)
        slice_table(runs, slices)
        whole = choose_pair(page, whole, titles)
        themes = show_themes(page, backend, systems, whole)
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
                report_button(page, systems, judgements, found, corpus, themes)
    open_example(page, backend, systems, [int(place) for place in chosen.index], whole)
    if not page.state.is_blind:
        by_bucket(page, found, titles, corpus)
        against(page, found, titles)
    if can_write():
        exchange_notes(systems)
        exchange_errors(systems, judgements)


def _whole_set(systems: Systems, table: pd.DataFrame) -> None:
    titles = systems.titles
    found = pd.DataFrame([figures(run) for run in systems.runs])
    whole = found[[name for name in WHOLE if name in found]].map(format_three_digits)
    whole = whole.rename(columns=WHOLE)
    whole.insert(0, "System", titles)
    read_table(whole)
    measures = list_measures(table)
    if not measures:
        # No example could be run.
        return
    with st.expander("All measures, mean of the examples", key="analyse_means", type="compact"):
        columns = {"Measure": [one.title for one in measures.values()]}
        for run, title in enumerate(titles):
            means = [table[f"{name}_{run}"].mean() for name in measures]
            columns[title] = list(map(format_three_digits, means))
        columns["What it is"] = [one.about for one in measures.values()]
        read_table(columns)


def _beside(backend: Backend, systems: Systems, table: pd.DataFrame) -> None:
    """Say what the models reach before training, if alignment or pointing was measured."""
    named = {one.request.model for one in systems.analyses if one.request is not None}
    cards = [card for name, card in backend.models().items() if name in named]
    for sentence in untrained_sentences(cards, list_measures(table)):
        st.caption(escape_markdown(sentence))

"""The results of an analysis: scores of the whole dataset, filters, table and open example."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.table import WHOLE_SET_METRICS, list_measures
from areaviz.analysis.themes.theme import Themes
from areaviz.app.texts import draw_text_table, escape_markdown
from areaviz.backend.backend import Backend
from areaviz.draw.labels import format_three_digits
from areaviz.ui.analyse.blind import draw_alias_key, drop_measures
from areaviz.ui.analyse.by_bucket import draw_bucket_section
from areaviz.ui.analyse.examples import draw_examples_table, draw_open_example, draw_table_download
from areaviz.ui.analyse.filter import (
    draw_failing_filter,
    draw_kept_filter,
    draw_metadata_filter,
    draw_search_and_filter,
    sort_rows,
)
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.notes_exchange import draw_errors_import_export, draw_notes_import_export
from areaviz.ui.analyse.rating_summary import (
    build_scored_table,
    draw_rater_agreement,
    draw_report_download,
)
from areaviz.ui.analyse.slices import (
    draw_slice_filter,
    draw_slice_menu,
    draw_slice_table,
    list_slices,
    list_value_slices,
)
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import compute_figures, list_judgements
from areaviz.ui.analyse.system_comparison import choose_pair, draw_system_comparison
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.analyse.themes import draw_themes
from areaviz.ui.analyse.untrained_comparison import describe_untrained_models


def draw_results(
    page: AnalysePage, backend: Backend, systems: Systems, corpus: Frequency | None = None
) -> None:
    """Draw all results. Word frequencies come from the corpus, or else from the references."""
    dataset, runs, titles = systems.dataset, systems.runs, systems.titles
    # A saved slice has priority over a metadata value with an equal name.
    slices = {**list_value_slices(dataset), **list_slices(dataset.digest)}
    judgements = list_judgements(dataset.digest)
    whole, themes = build_scored_table(systems, judgements), tuple[Themes, ...]()
    if page.state.is_blind:
        whole = drop_measures(whole)
    else:
        st.header("The whole set", anchor=False)
        _draw_whole_set(systems, whole)
        _draw_untrained_comparison(backend, systems, whole)
        draw_alias_key(systems)
        draw_rater_agreement(systems, judgements)
        draw_slice_table(runs, slices)
        whole = choose_pair(page, whole, titles)
        themes = draw_themes(page, backend, systems, whole)
    st.header("Example by example", anchor=False)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        table = draw_metadata_filter(page, draw_slice_filter(page, whole, slices))
    found = draw_search_and_filter(page, table, len(runs))
    chosen = sort_rows(page, draw_failing_filter(page, draw_kept_filter(page, found)))
    draw_examples_table(page, chosen, len(runs))
    if len(chosen):
        with st.container(horizontal=True):
            if can_write():
                draw_slice_menu(dataset.digest, chosen)
            if not page.state.is_blind:
                draw_table_download(page, chosen, len(runs))
                draw_report_download(page, systems, judgements, found, corpus, themes)
    draw_open_example(page, backend, systems, [int(place) for place in chosen.index], whole)
    if not page.state.is_blind:
        draw_bucket_section(page, found, titles, corpus)
        draw_system_comparison(page, found, titles)
    if can_write():
        draw_notes_import_export(systems)
        draw_errors_import_export(systems, judgements)


def _draw_whole_set(systems: Systems, table: pd.DataFrame) -> None:
    titles = systems.titles
    found = pd.DataFrame([compute_figures(run) for run in systems.runs])
    whole = found[[name for name in WHOLE_SET_METRICS if name in found]].map(format_three_digits)
    whole = whole.rename(columns=WHOLE_SET_METRICS)
    whole.insert(0, "System", titles)
    draw_text_table(whole)
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
        draw_text_table(columns)


def _draw_untrained_comparison(backend: Backend, systems: Systems, table: pd.DataFrame) -> None:
    """Say what the models reach before training, if alignment or pointing was measured."""
    named = {one.request.model for one in systems.analyses if one.request is not None}
    cards = [card for name, card in backend.models().items() if name in named]
    for sentence in describe_untrained_models(cards, list_measures(table)):
        st.caption(escape_markdown(sentence))

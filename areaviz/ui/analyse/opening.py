"""The analysis that Analyse opens with: two translators, and the sentences where one is worse."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from areaviz.analysis.model_comparison import count_wins, mean_change
from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.app.page import Cards
from areaviz.draw.labels import number_text
from areaviz.samples.paths import ANALYSIS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.ui.analyse.brush import read_mark_number
from areaviz.ui.analyse.examples import OPEN_EXAMPLE_KEY
from areaviz.ui.analyse.opening_sentence import (
    CHRF_CHANGE_COLUMN,
    draw_sentence,
    draw_words,
    find_changed_words,
)
from areaviz.ui.analyse.opening_tabs import draw_opening_tabs
from areaviz.ui.analyse.state import NEW_PARAM, AnalysePage
from areaviz.ui.analyse.stored_data import (
    StoredRows,
    build_examples_table,
    compute_figures,
    read_stored_rows,
)

MAX_LABELLED_BARS = 3
"""Number of bars with a label, besides the bar of the open sentence."""


def draw_stored_analysis(page: AnalysePage, cards: Cards) -> None:
    """Draw the stored analysis. Raise as `read_stored_rows`."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(read_stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = build_examples_table(runs).sort_values([CHRF_CHANGE_COLUMN, "chrf_1"], kind="stable")
    if page.state.example not in table.index:
        page.set(example=int(table.index[0]))
    titles = [cards[model].title if model in cards else model for model in MODELS]
    _draw_head(page, runs, titles)
    headline = _draw_summary(table)
    left, right = st.columns([1.6, 1], gap="small")
    with left.container(border=True, height="stretch", key="analyse_bars", gap="xsmall"):
        st.markdown("**Every sentence, from worst to best:** change in chrF from A to B")
        _draw_bars(page, table, headline)
    with right.container(border=True, height="stretch", gap="xsmall", key=OPEN_EXAMPLE_KEY):
        draw_sentence(page, table, MODELS[0] in cards)
        draw_words(table)
    draw_opening_tabs(
        page, table, [f"({number}) {title}" for number, title in enumerate(titles, 1)]
    )


def draw_leave_form_button(page: AnalysePage) -> None:
    """Draw the button that leads from the form back to the stored analysis."""
    st.button("Back to the stored analysis", type="tertiary", on_click=_leave_form, args=(page,))


def _open_form(page: AnalysePage) -> None:
    st.query_params.from_dict({NEW_PARAM: "1"})
    page.set(is_new=True, example=None, address={NEW_PARAM: "1"})


def _leave_form(page: AnalysePage) -> None:
    st.query_params.clear()
    page.set(is_new=False, example=None, address={})


def _draw_head(page: AnalysePage, runs: tuple[StoredRows, ...], titles: list[str]) -> None:
    """Draw the names of the compared systems, and the button for an analysis of the user's own."""
    systems = [
        f"**{letter}** {title}, BLEU {compute_figures(run)['corpus_bleu']:.1f}"
        for letter, title, run in zip("AB", titles, runs, strict=True)
    ]
    with st.container(horizontal=True, vertical_alignment="center", key="analyse_head"):
        st.caption(" · ".join([f"{len(runs[0].dataset.examples)} short sentences", *systems]))
        st.space("stretch")
        st.button("New analysis", type="primary", on_click=_open_form, args=(page,))


def _draw_summary(table: pd.DataFrame) -> str:
    """Draw the result in one sentence, with its interval, and return the sentence."""
    changes = table[CHRF_CHANGE_COLUMN].to_numpy(float)
    better, _, worse = count_wins(changes, "high")
    mean, low, high = (number_text(value, "+.1f") for value in mean_change(changes))
    sentence = (
        f"Without attention, {worse} of {len(table)} translations get worse and {better} better."
    )
    with st.container(key="analyse_summary"):
        st.header(sentence, anchor=False)
        st.markdown(f"Mean change {mean} chrF (95 % interval {low} to {high}).")
    return sentence


def _draw_bars(page: AnalysePage, table: pd.DataFrame, title: str) -> None:
    """Draw one bar per sentence. A click opens the sentence."""
    # Imported here: Plotly takes a while to import, and the form does not need it.
    from areaviz.views.metric_changes import change_bars

    places = [int(place) for place in table.index]
    chosen = places.index(page.state.example) if page.state.example in places else 0
    key = f"analyse_changes_{chosen}"

    def click() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            page.set(example=places[read_mark_number(points[0]["customdata"])])

    labels = {}
    for at in sorted({*range(MAX_LABELLED_BARS), chosen}):
        row = table.iloc[at]
        if row[CHRF_CHANGE_COLUMN]:
            labels[at] = find_changed_words(str(row["output_0"]), str(row["output_1"]))
    figure = change_bars(list(table[CHRF_CHANGE_COLUMN]), list(table["text"]), labels, chosen)
    st.plotly_chart(
        figure,
        key=key,
        on_select=click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=title,
    )

"""The tabs below the stored analysis (its rows, scores by length, and words), and its link."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.app.frame import draw_page_link
from areaviz.app.page import COMPARE
from areaviz.ui.analyse.by_bucket import draw_buckets
from areaviz.ui.analyse.examples import draw_examples_table
from areaviz.ui.analyse.filter import draw_kept_filter, sort_rows
from areaviz.ui.analyse.state import EXAMPLE_PARAM, PART_PARAM, AnalysePage
from areaviz.ui.analyse.state import SET_PARAM as SET_PARAMETER
from areaviz.ui.analyse.system_comparison import draw_wins_and_words

ROWS_TAB, LENGTH_TAB, WORDS_TAB = "rows", "length", "words"


def draw_opening_tabs(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw the titles of the tabs, the link, and the open tab. Another click closes the tab.

    Args:
        page: its state has the name of the open tab.
        table: the sentences.
        titles: the titles of both systems.
    """
    names = {
        ROWS_TAB: f"All {len(table)} rows",
        LENGTH_TAB: "By length",
        WORDS_TAB: "Words and measures",
    }
    if page.state.part not in names:
        page.set(part=None)
    with st.container(key="tabs", horizontal=True, vertical_alignment="center", gap="medium"):
        page.draw_widget(
            st.segmented_control,
            "More of this analysis",
            "part",
            list(names),
            format_func=names.__getitem__,
            label_visibility="collapsed",
        )
        st.space("stretch")
        params = {SET_PARAMETER: SET, "model": MODELS[0], COMPARE: MODELS[1]}
        draw_page_link("pages/analyse.py", "Mark errors, write notes, get a report", params)
        page.offer_link(_build_link_params(page))
    with st.container(key="tab_part"):
        if page.state.part == ROWS_TAB:
            draw_examples_table(
                page, sort_rows(page, draw_kept_filter(page, table)), len(titles), "above"
            )
        elif page.state.part == LENGTH_TAB:
            draw_buckets(page, table, titles, None)
        elif page.state.part == WORDS_TAB:
            draw_wins_and_words(page, table, titles)


def _build_link_params(page: AnalysePage) -> dict[str, str]:
    """Return the URL parameters that open this sentence and this tab."""
    params = {}
    if page.state.example is not None:
        params[EXAMPLE_PARAM] = f"{page.state.example + 1}"
    if page.state.part:
        params[PART_PARAM] = page.state.part
    return params

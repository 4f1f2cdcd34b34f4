"""The tabs below the stored analysis (its rows, scores by length, and words), and its link."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.ui.analyse.by_bucket import draw_buckets
from areaviz.ui.analyse.examples import examples_list
from areaviz.ui.analyse.filter import in_order, kept_rows
from areaviz.ui.analyse.state import EXAMPLE, PART, AnalysePage
from areaviz.ui.analyse.state import SET as SET_PARAMETER
from areaviz.ui.analyse.system_comparison import draw_comparison
from areaviz.ui.app.frame import page_link
from areaviz.ui.app.state import COMPARE

ROWS, LENGTH, WORDS = "rows", "length", "words"


def opening_tabs(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw the titles of the tabs, the link, and the open tab. Another click closes the tab.

    Args:
        page: its state has the name of the open tab.
        table: the sentences.
        titles: the titles of both systems.
    """
    names = {ROWS: f"All {len(table)} rows", LENGTH: "By length", WORDS: "Words and measures"}
    if page.state.part not in names:
        page.set(part=None)
    with st.container(key="tabs", horizontal=True, vertical_alignment="center", gap="medium"):
        page.widget(
            st.segmented_control,
            "More of this analysis",
            "part",
            list(names),
            format_func=names.__getitem__,
            label_visibility="collapsed",
        )
        st.space("stretch")
        params = {SET_PARAMETER: SET, "model": MODELS[0], COMPARE: MODELS[1]}
        page_link("pages/analyse.py", "Mark errors, write notes, get a report", params)
        page.offer(_address(page))
    with st.container(key="tab_part"):
        if page.state.part == ROWS:
            examples_list(page, in_order(page, kept_rows(page, table)), len(titles), "above")
        elif page.state.part == LENGTH:
            draw_buckets(page, table, titles, None)
        elif page.state.part == WORDS:
            draw_comparison(page, table, titles)


def _address(page: AnalysePage) -> dict[str, str]:
    """Return the URL parameters that open this sentence and this tab."""
    params = {}
    if page.state.example is not None:
        params[EXAMPLE] = f"{page.state.example + 1}"
    if page.state.part:
        params[PART] = page.state.part
    return params

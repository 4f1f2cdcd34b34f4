"""The sections below the picture of a result: tabs that are drawn when they are opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.page import AnyPage
from areaviz.ui.app.state import (
    ATTRIBUTION,
    BRACKETS,
    COMPARE,
    COSTS,
    KINDS,
    TABLE,
    VIEW,
    WHAT_IF,
    WHY,
    WITHOUT,
)

TAB_ORDER = (BRACKETS, WITHOUT, WHAT_IF, WHY, COSTS, VIEW, TABLE, ATTRIBUTION, COMPARE, KINDS)
"""The names of all tabs in the order of the row."""


def has_attention(trace: Trace, focus: Focus) -> bool:
    """Return whether a site of the trace is selected."""
    return bool(focus.site)


@dataclass(frozen=True, slots=True)
class ResultTab:
    """A section below the picture.

    Args:
        name: one of `TAB_ORDER`, as in `State.tabs`.
        title: its title in the row.
        draw: draws its content, from the first trace and its selection.
        fits: whether the tab is offered for them.
    """

    name: str
    title: str
    draw: Callable[[Trace, Focus], None]
    fits: Callable[[Trace, Focus], bool] = has_attention


def draw_tab_row(page: AnyPage, tabs: Sequence[ResultTab]) -> DeltaGenerator:
    """Draw the titles of the tabs, and return the place at the right end of the row.

    A click opens one tab and closes the other ones, or closes the tab again. A link may open
    several tabs, because it may name a view, a comparison and a change.
    """
    titles = {
        tab.name: tab.title for tab in sorted(tabs, key=lambda tab: TAB_ORDER.index(tab.name))
    }
    opened = [name for name in titles if name in page.state.tabs]
    key = page.key("tabs")
    if st.session_state.get(key) != opened:
        st.session_state[key] = opened

    def take() -> None:
        chosen = st.session_state[key]
        page.set(tabs=[name for name in chosen if name not in opened] or chosen)

    with st.container(key="tabs", horizontal=True, vertical_alignment="center", gap="medium"):
        if titles:
            st.segmented_control(
                "Further views of this result",
                list(titles),
                selection_mode="multi",
                # The browser may miss the drawing that sets the value, see `Page.widget`.
                default=opened,
                format_func=titles.__getitem__,
                key=key,
                on_change=take,
                label_visibility="collapsed",
            )
        st.space("stretch")
        return st.container(horizontal=True, width="content", gap="medium")


def draw_tabs(page: AnyPage, tabs: Sequence[ResultTab], trace: Trace, focus: Focus) -> None:
    """Draw the content of the open tabs, with their titles if there are several."""
    opened = [tab for tab in tabs if tab.name in page.state.tabs]
    for tab in sorted(opened, key=lambda tab: TAB_ORDER.index(tab.name)):
        with st.container(key=f"tab_{tab.name}"):
            if len(opened) > 1:
                st.subheader(tab.title, anchor=False)
            tab.draw(trace, focus)

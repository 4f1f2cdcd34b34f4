"""A page that stayed open while the app was started again: the new app takes up what it shows.

The browser sends what all widgets of the page hold with every act. A new app would take that for
their first values, and then set them to what the address says, or to where they begin: the act
would be lost. So the page is drawn from its address alone, as in a new tab, and what the browser
brought is then taken for acts of its reader, each once, as soon as its widget is there. Files are
not brought: they went with the app that had them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState

from areaviz.ui.shell.component import component
from areaviz.ui.shell.streamlit_private import (
    has_files,
    is_drawn,
    key_of,
    rerun_with,
    session_id,
    take_unread_widgets,
)

SETTABLE = (
    "string_value",
    "int_value",
    "double_value",
    "bool_value",
    "string_array_value",
    "double_array_value",
)
"""Kinds of values that a page may set; those of buttons and files it may not."""
FILES_GONE = (
    "The app was started again, and the files that were here went with it; choose them again."
)
_BROUGHT, _TAKEN, _DRAWN, _LOST = (
    "restart_brought",
    "restart_taken",
    "restart_drawn",
    "restart_lost",
)
"""Session keys: values that wait for their widget, those taken for acts, whether a page was
drawn to its end, and whether files were lost.
"""


def begin() -> None:
    """Before anything is drawn: put aside what a browser brings to a session without a page."""
    back = component("restart_recovery")(key="restart_recovery", on_back_change=_nothing).back
    state = st.session_state
    if session_id() is None:
        return
    if _DRAWN not in state:
        # What came first counts: what comes later may be what an unfinished drawing has told the
        # browser.
        earlier = state.get(_BROUGHT)
        unread = take_unread_widgets()
        if unread:
            unfinished = back["writing"] if back else ""
            brought = earlier or [one for one in unread if _class_of(one) != unfinished]
            state[_BROUGHT] = brought
            state[_LOST] = any(map(has_files, brought))
    # All of them each time: of two drawings in a row the browser may see the last one alone.
    for one in state.get(_TAKEN, ()):
        _show(one)


def take_up(is_open: bool) -> None:
    """After everything was drawn: act as what was brought says, where its widget is there by now.

    Args:
        is_open: whether that was the page, and not the question for the token, after which there
            still is time.
    """
    state = st.session_state
    state[_DRAWN] = True
    brought: list[WidgetState] = state.get(_BROUGHT, [])
    if session_id() is None or not is_open:
        return
    here = [one for one in brought if is_drawn(one)]
    if here:
        state[_BROUGHT] = [one for one in brought if one not in here]
        state[_TAKEN] = [*state.get(_TAKEN, ()), *here]
        rerun_with(here)
    state[_BROUGHT] = state[_TAKEN] = []
    if state.pop(_LOST, False):
        st.toast(FILES_GONE, icon=":material/upload_file:", duration="infinite")


def _show(widget: WidgetState) -> None:
    """Have the browser show a value, for the page's first drawing has told it another one."""
    state, key = st.session_state, key_of(widget)
    is_settable = widget.WhichOneof("value") in SETTABLE
    if is_settable and key in state and not isinstance(state[key], Mapping):
        state[key] = state[key]


def _class_of(widget: WidgetState) -> str:
    """The class of a widget in the browser, which names the field that is being written in so."""
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", key_of(widget).strip())


def _nothing() -> None:
    """That the browser is back is known from its values."""

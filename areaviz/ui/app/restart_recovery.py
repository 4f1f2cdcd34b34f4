"""Recovery of a page that stayed open while the app was restarted.

With every action, the browser sends the values of all widgets of the page. A new app would take
them for initial values, and then reset them from the URL or to their defaults, so the action would
be lost. The page is therefore first drawn from its URL only, as in a new tab. The values from the
browser are then applied as actions of the user, each once, as soon as its widget is drawn. Uploaded
files cannot be recovered, because they were lost with the old app.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState

from areaviz.ui.app.component import get_component, ignore_report
from areaviz.ui.app.streamlit_private import (
    get_session_id,
    get_widget_key,
    has_files,
    is_drawn,
    rerun_with,
    take_unread_widgets,
)

SETTABLE_VALUES = (
    "string_value",
    "int_value",
    "double_value",
    "bool_value",
    "string_array_value",
    "double_array_value",
)
"""Kinds of values that a page may set. Values of buttons and files cannot be set."""
FILES_LOST_TEXT = (
    "The app was started again and has lost the files that were here. Choose them again."
)
_BROUGHT_KEY, _TAKEN_KEY, _DRAWN_KEY, _LOST_KEY = (
    "restart_brought",
    "restart_taken",
    "restart_drawn",
    "restart_lost",
)
"""Session keys: values that wait for their widget, values already applied, whether a page was
drawn to its end, and whether files were lost.
"""


def stash_browser_values() -> None:
    """Set aside the values that a browser sends to a new session. Call this before drawing."""
    back = get_component("restart_recovery")(
        key="restart_recovery", on_back_change=ignore_report
    ).back
    state = st.session_state
    if get_session_id() is None:
        return
    if _DRAWN_KEY not in state:
        # Keep the values that came first. Later values may repeat those that an unfinished drawing
        # sent to the browser.
        earlier = state.get(_BROUGHT_KEY)
        unread = take_unread_widgets()
        if unread:
            unfinished = back["writing"] if back else ""
            brought = earlier or [one for one in unread if _get_css_class(one) != unfinished]
            state[_BROUGHT_KEY] = brought
            state[_LOST_KEY] = any(map(has_files, brought))
    # Send all values each time, because the browser may see only the last of two drawings in a row.
    for one in state.get(_TAKEN_KEY, ()):
        _show_value(one)


def apply_stashed_values(is_open: bool) -> None:
    """Apply the waiting values whose widgets are drawn by now. Call this after drawing.

    If the page is not open, but asks for the access token, the values still wait.
    """
    state = st.session_state
    state[_DRAWN_KEY] = True
    brought: list[WidgetState] = state.get(_BROUGHT_KEY, [])
    if get_session_id() is None or not is_open:
        return
    here = [one for one in brought if is_drawn(one)]
    if here:
        state[_BROUGHT_KEY] = [one for one in brought if one not in here]
        state[_TAKEN_KEY] = [*state.get(_TAKEN_KEY, ()), *here]
        rerun_with(here)
    state[_BROUGHT_KEY] = state[_TAKEN_KEY] = []
    if state.pop(_LOST_KEY, False):
        st.toast(FILES_LOST_TEXT, icon=":material/upload_file:", duration="infinite")


def _show_value(widget: WidgetState) -> None:
    """Make the browser show a value, because the first drawing has sent it another one."""
    state, key = st.session_state, get_widget_key(widget)
    is_settable = widget.WhichOneof("value") in SETTABLE_VALUES
    if is_settable and key in state and not isinstance(state[key], Mapping):
        state[key] = state[key]


def _get_css_class(widget: WidgetState) -> str:
    """Return the CSS class of a widget, which identifies the field in which the user types."""
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", get_widget_key(widget).strip())

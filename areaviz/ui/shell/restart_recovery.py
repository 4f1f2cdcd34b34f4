"""A page that stayed open while the app was started again: what its browser still shows is taken up
by the new app.

The browser sends what all widgets of the page hold with every act. A new app would take that for
their first values,
and then set them to what the address says, or to where they begin: the act would be lost. So the
page is drawn from its address alone, as in a new tab, and what the browser brought is then taken
for acts of its reader, each once, as soon as its widget is there. Files are not brought: they went
with the app that had them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import (
    RerunData,
    RerunException,
    ScriptRunContext,
    get_script_run_ctx,
)
from streamlit.runtime.state.session_state import Serialized

from areaviz.ui.shell.component import component

_BROUGHT, _TAKEN, _DRAWN, _LOST = (
    f"returning_{name}" for name in ("brought", "taken", "drawn", "lost_files")
)
PLAIN = (
    "string_value",
    "int_value",
    "double_value",
    "bool_value",
    "string_array_value",
    "double_array_value",
)
"""Kinds of values that a page may set; those of buttons and files it may not."""
FILES = "file_uploader_state_value"
FILES_GONE = (
    "The app was started again, and the files that were here went with it; choose them again."
)


def begin() -> None:
    """To be called before anything is drawn: put aside what a browser brings before this session
    has drawn a page.
    """
    told = component("returning")(key="returning", on_back_change=_nothing)
    state, context = st.session_state, get_script_run_ctx()
    if context is None:
        return
    if _DRAWN not in state and (unread := _unread(context)):
        # What came first counts: what comes later may be what an unfinished drawing has told the
        # browser.
        unfinished = told.back["writing"] if told.back else ""
        brought = state.get(_BROUGHT) or [one for one in unread if _class_of(one.id) != unfinished]
        # In no public way. What else is in it was not drawn to its end; `clear` alone leaves what
        # no widget has read.
        context.session_state._state._new_widget_state.states.clear()
        context.session_state._state.clear()
        state[_BROUGHT] = brought
        state[_LOST] = any(one.file_uploader_state_value.uploaded_file_info for one in brought)
    for one in state.pop(_TAKEN, ()):
        _show(one)


def take_up(is_open: bool) -> None:
    """To be called after everything was drawn: act as what was brought says, where its widget is
    there by now.

    is_open: whether that was the page, and not the question for the token, after which there still
    is time.
    """
    state, context = st.session_state, get_script_run_ctx()
    state[_DRAWN] = True
    brought: list[WidgetState] = state.get(_BROUGHT, [])
    if context is None or not is_open:
        return
    here = [one for one in brought if one.id in context.shared.widget_ids_this_run]
    state[_BROUGHT] = [one for one in brought if one not in here] if here else []
    if here:
        state[_TAKEN] = here
        raise RerunException(_acts(here, context))
    if state.pop(_LOST, False):
        st.toast(FILES_GONE, icon=":material/upload_file:", duration="infinite")


def _unread(context: ScriptRunContext) -> list[WidgetState]:
    """What the browser sent of widgets that were not drawn yet; there is no public way to it."""
    states = context.session_state._state._new_widget_state.states.values()
    return [one.value for one in states if isinstance(one, Serialized)]


def _acts(brought: list[WidgetState], context: ScriptRunContext) -> RerunData:
    """The page once more, with these values as if they had just been chosen."""
    states = WidgetStates(widgets=[one for one in brought if one.WhichOneof("value") != FILES])
    return RerunData(
        context.query_string, states, context.page_script_hash, context_info=context.context_info
    )


def _show(one: WidgetState) -> None:
    """Have the browser show a value, for the page's first drawing has told it another one."""
    state, key = st.session_state, _key_of(one.id)
    if one.WhichOneof("value") in PLAIN and key in state and not isinstance(state[key], Mapping):
        state[key] = state[key]


def _key_of(identity: str) -> str:
    """The key of a widget: Streamlit's name of it is "$$ID-", a digest, a hyphen and the key."""
    return identity.split("-", 2)[-1]


def _class_of(identity: str) -> str:
    """The class by which Streamlit marks the widget, as the browser names the field that was being
    written in.
    """
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", _key_of(identity).strip())


def _nothing() -> None:
    """That the browser is back is told by its values."""

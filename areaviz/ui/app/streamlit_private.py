"""All uses of Streamlit's private interfaces. Each has a test of its own.

Streamlit's version is pinned, and `tests/ui/app/test_streamlit_private.py` fails if a new version
removes one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.state.session_state import Serialized
from streamlit.runtime.uploaded_file_manager import DeletedFile

_FILES_FIELD = "file_uploader_state_value"


def get_session_id() -> str | None:
    """Return the id of the running session; None outside of a session."""
    context = get_script_run_ctx()
    return None if context is None else context.session_id


def leave_pages_folder() -> bool:
    """Make Streamlit show the navigation of app.py. Return whether it showed its own until now.

    If a folder named pages exists, Streamlit runs its files directly, with its own navigation,
    until app.py has run once in the process.
    """
    before = PagesManager.uses_pages_directory
    PagesManager.uses_pages_directory = False
    return bool(before)


def take_unread_widgets() -> list[WidgetState]:
    """Return the values that the browser sent of widgets not drawn yet, and empty the session."""
    context = get_script_run_ctx()
    if context is None:
        return []
    session = context.session_state._state
    states = session._new_widget_state.states
    unread = [one.value for one in states.values() if isinstance(one, Serialized)]
    if unread:
        states.clear()  # The session's `clear` keeps values that no widget has read.
        session.clear()
    return unread


def is_drawn(widget: WidgetState) -> bool:
    """Return whether the widget is on the page that is being drawn."""
    context = get_script_run_ctx()
    return context is not None and widget.id in context.shared.widget_ids_this_run


def rerun_with(widgets: Sequence[WidgetState]) -> NoReturn:
    """Rerun the page as if the user had just chosen these values. Files are not supported."""
    context = get_script_run_ctx()
    assert context is not None, "called outside of a session"
    chosen = WidgetStates(
        widgets=[one for one in widgets if one.WhichOneof("value") != _FILES_FIELD]
    )
    raise RerunException(
        RerunData(
            context.query_string,
            chosen,
            context.page_script_hash,
            context_info=context.context_info,
        )
    )


def has_files(widget: WidgetState) -> bool:
    """Return whether the value names uploaded files."""
    return bool(widget.file_uploader_state_value.uploaded_file_info)


def is_file_gone(file: object) -> bool:
    """Return whether the browser still names this file, but the app that stored it has ended."""
    return isinstance(file, DeletedFile)


def has_widget_change() -> bool:
    """Return whether this run began with a click, a choice or a text of the user.

    It did not if the user opened a link or moved through the browser's history. Widgets that this
    run has drawn already are left out, because a new widget has a value that the user did not set.
    """
    context = get_script_run_ctx()
    if context is None or context.is_history_navigation:
        return False
    session = context.session_state._state
    drawn = context.shared.widget_ids_this_run
    return any(
        session._widget_changed(widget)
        for widget in session._new_widget_state
        if widget not in drawn
    )


def get_widget_key(widget: WidgetState) -> str:
    """Return the key of a widget. Its Streamlit id is "$$ID-", a digest, a hyphen and the key."""
    return widget.id.split("-", 2)[-1]


def is_drawing_page() -> bool:
    """Return whether this run draws a page of the app, not a file of the static site."""
    return get_script_run_ctx(suppress_warning=True) is not None

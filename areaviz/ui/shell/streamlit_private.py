"""What is used of Streamlit that is not public, all of it here; each has a test of its own.

Pinned with Streamlit: `tests/ui/shell/test_streamlit_private.py` fails when one of them goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.state.session_state import Serialized
from streamlit.runtime.uploaded_file_manager import DeletedFile

_FILES = "file_uploader_state_value"


def session_id() -> str | None:
    """The id of the session that runs; None outside of one."""
    context = get_script_run_ctx()
    return None if context is None else context.session_id


def leave_pages_folder() -> bool:
    """Have Streamlit show the navigation of app.py; whether it showed one of its own until now.

    Where there is a folder named pages, Streamlit runs its files by themselves, with a navigation
    of its own, until app.py has run once in the process.
    """
    before = PagesManager.uses_pages_directory
    PagesManager.uses_pages_directory = False
    return bool(before)


def take_unread_widgets() -> list[WidgetState]:
    """What the browser sent of widgets that were not drawn yet; the session is empty afterwards."""
    context = get_script_run_ctx()
    if context is None:
        return []
    session = context.session_state._state
    states = session._new_widget_state.states
    unread = [one.value for one in states.values() if isinstance(one, Serialized)]
    if unread:
        states.clear()  # `clear` of the session leaves what no widget has read
        session.clear()
    return unread


def is_drawn(widget: WidgetState) -> bool:
    """Whether the widget is on the page that is being drawn."""
    context = get_script_run_ctx()
    return context is not None and widget.id in context.shared.widget_ids_this_run


def rerun_with(widgets: Sequence[WidgetState]) -> NoReturn:
    """Draw the page once more, as if these values had just been chosen; files cannot be."""
    context = get_script_run_ctx()
    assert context is not None, "called outside of a session"
    chosen = WidgetStates(widgets=[one for one in widgets if one.WhichOneof("value") != _FILES])
    raise RerunException(
        RerunData(
            context.query_string,
            chosen,
            context.page_script_hash,
            context_info=context.context_info,
        )
    )


def has_files(widget: WidgetState) -> bool:
    """Whether the value names files that were uploaded."""
    return bool(widget.file_uploader_state_value.uploaded_file_info)


def is_gone(file: object) -> bool:
    """Whether the browser still names this file, and the app that had it has ended."""
    return isinstance(file, DeletedFile)


def key_of(widget: WidgetState) -> str:
    """The key of a widget: Streamlit's name of it is "$$ID-", a digest, a hyphen and the key."""
    return widget.id.split("-", 2)[-1]

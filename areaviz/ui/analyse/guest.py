"""By which shared link the page is seen, if by any, and what the link lets its reader do.

Everything asks here on every run of the page and before every change, so a link that is withdrawn
ends at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from areaviz.analysis.rows import analyses_folder
from areaviz.analysis.shared_links import Mode, SharedLink, SharedLinks
from areaviz.trace.errors import InputError

# In the session: the token of the link that the page is seen by, "" for none.
TOKEN = "analyse_shared_token"
T = TypeVar("T")


def shared_links() -> SharedLinks:
    """Return the links of all readers."""
    return SharedLinks(analyses_folder())


def see_by(token: str) -> None:
    """Note by which link the page is seen from now on, "" for none."""
    st.session_state[TOKEN] = token


def is_guest() -> bool:
    """Return whether the page is seen by a shared link."""
    return bool(st.session_state.get(TOKEN))


def check_access() -> SharedLink | None:
    """Return the link that the page is seen by, None where it is seen by none.

    Raises:
        InputError: the link was withdrawn.
    """
    token: str = st.session_state.get(TOKEN, "")
    return shared_links().open(token) if token else None


def can_write() -> bool:
    """Return whether the reader may add notes, marks and slices.

    Raises:
        InputError: the link was withdrawn.
    """
    link = check_access()
    return link is None or link.analysis.mode == Mode.NOTE


def check_writing() -> None:
    """Raise InputError where the reader may not add notes, marks and slices."""
    if not can_write():
        raise InputError(
            "This analysis is shared read only, so nothing was saved. Ask its owner for a link that"
            " lets you add notes and marks."
        )


def while_shared(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function for a download, which is refused once the link is withdrawn.

    Downloads are made when they are clicked, outside of the session.
    """
    token: str = st.session_state.get(TOKEN, "")

    def make_checked() -> T:
        if token:
            shared_links().open(token)
        return make()

    return make_checked

"""Access by a shared link: whether a link opened the page, and what the link allows.

Every run of the page and every change asks here, so withdrawing a link takes effect at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from areaviz.analysis.rows import find_analyses_folder
from areaviz.analysis.shared_links import Mode, SharedLink, SharedLinks
from areaviz.trace.errors import InputError

# Session key: the token of the shared link by which the page is open, "" for none.
TOKEN_KEY = "analyse_shared_token"
T = TypeVar("T")


def get_shared_links() -> SharedLinks:
    """Return the links of all users."""
    return SharedLinks(find_analyses_folder())


def set_link_token(token: str) -> None:
    """Record the shared link by which the page is open from now on, "" for none."""
    st.session_state[TOKEN_KEY] = token


def is_guest() -> bool:
    """Return whether the page is open by a shared link."""
    return bool(st.session_state.get(TOKEN_KEY))


def get_valid_link() -> SharedLink | None:
    """Return the shared link by which the page is open, None for none.

    Raises:
        InputError: the link was withdrawn.
    """
    token: str = st.session_state.get(TOKEN_KEY, "")
    return get_shared_links().open(token) if token else None


def can_write() -> bool:
    """Return whether the user may add notes, marks and slices.

    Raises:
        InputError: the link was withdrawn.
    """
    link = get_valid_link()
    return link is None or link.analysis.mode == Mode.NOTE


def check_writing() -> None:
    """Raise InputError if the user may not add notes, marks and slices."""
    if not can_write():
        raise InputError(
            "This analysis is shared read only, so nothing was saved. Ask its owner for a link that"
            " lets you add notes and marks."
        )


def guard_by_link(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function for a download that fails once the link is withdrawn.

    Downloads are created when they are clicked, outside the session.
    """
    token: str = st.session_state.get(TOKEN_KEY, "")

    def make_checked() -> T:
        if token:
            get_shared_links().open(token)
        return make()

    return make_checked


def draw_download_button(
    label: str, make: Callable[[], bytes | str], name: str, mime: str, key: str, **options: Any
) -> None:
    """Draw the button of a download that fails once the shared link is withdrawn."""
    made = guard_by_link(make)
    st.download_button(label, made, name, mime, key=key, on_click="ignore", **options)

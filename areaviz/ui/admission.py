"""Who may see the app: where an access token is set, nothing is shown before it was given.

AREAVIZ_APP_TOKEN_SHA256: the digest of the token, set by `python -m areaviz serve --token-file FILE`.
"""

from __future__ import annotations

import os

import streamlit as st

from areaviz.backend.access import is_loopback, opens
from areaviz.ui.errors import problem

SETTING = "AREAVIZ_APP_TOKEN_SHA256"
PARAMETER = "token"
"""In an address: lets its reader in; it is taken out of the address at once."""
_ADMITTED, _REFUSED, _TYPED = "admitted_by", "token_refused", "access_token"


def admitted() -> bool:
    """Whether this session may see the app: always on this machine, but once with the token where one is set."""
    digest = os.environ.get(SETTING, "")
    if not digest:
        return is_loopback(st.get_option("server.address"))
    given = st.query_params.pop(PARAMETER, None)
    if given is not None and opens(given, digest):
        st.session_state[_ADMITTED] = digest
    return bool(st.session_state.get(_ADMITTED) == digest)


def ask_for_token() -> None:
    """In place of a page: the form for the token, or why there is none to give."""
    digest = os.environ.get(SETTING, "")
    st.title("areaviz", anchor=False)
    if not digest:
        problem(
            "This app listens beyond its own machine without an access token, so it shows nothing; "
            "start it with: python -m areaviz serve --host HOST --token-file FILE."
        )
        return
    st.caption("This app is not public. Its owner has the access token.")
    with st.form("admission", width=420):
        st.text_input("Access token", type="password", key=_TYPED, autocomplete="current-password")
        st.form_submit_button("Open", type="primary", on_click=_try, args=(digest,))
    if st.session_state.pop(_REFUSED, False):
        problem("This is not the access token; copy it again from whoever started the app.")


def _try(digest: str) -> None:
    """Let the reader in with the token that was typed."""
    right = opens(st.session_state[_TYPED].strip(), digest)
    st.session_state[_ADMITTED if right else _REFUSED] = digest

"""Who may see a page: the second lock, behind the door that `python -m areaviz serve` puts before
the app.

Where an access token is wanted, a page is drawn only for a session whose socket brought the cookie
of admission; where none is, only while the app listens on this machine alone.
"""

from __future__ import annotations

import os

import streamlit as st

from areaviz.backend.access import KEY_SETTING, admission_cookie, is_admission, is_loopback
from areaviz.ui.shell.errors import problem


def admitted() -> bool:
    """Whether this session may see the app."""
    key = os.environ.get(KEY_SETTING, "")
    if not key:
        return is_loopback(st.get_option("server.address"))
    given = st.context.cookies.get(admission_cookie(st.get_option("server.port")), "")
    return is_admission(given, key)


def refuse() -> None:
    """In place of a page: what has to be done to see it."""
    st.title("areaviz", anchor=False)
    if os.environ.get(KEY_SETTING):
        problem("This app is not public; load this page again to sign in with its access token.")
    else:
        problem(
            "This app listens beyond its own machine without an access token, so it shows nothing; "
            "start it with: python -m areaviz serve --host HOST --token-file FILE."
        )

"""The identity of a user: a random id in a cookie, so that lists can show a user's own items.

The gateway in front of the app sets the cookie, with and without an access token. If the app runs
without the gateway (`streamlit run app.py`), the id lasts as long as the session.
"""

from __future__ import annotations

import hashlib

import streamlit as st

from areaviz.backend.access import is_reader, make_reader_id, name_reader_cookie
from areaviz.shares.visitors import Visitor, find_network

_ID_KEY = "reader_id"


def get_user_id() -> str:
    """Return the user's id, 32 hexadecimal digits: from the cookie, or else of this session."""
    own: str = _read_cookie() or st.session_state.setdefault(_ID_KEY, make_reader_id())
    return own


def get_visitor() -> Visitor:
    """Return the user and the network address, to which quotas apply.

    The gateway hides addresses that many users share, so quotas by address do not apply to them.
    All sessions without a cookie are one visitor.
    """
    return Visitor(_read_cookie(), find_network(st.context.ip_address or ""))


def get_user_digest() -> str:
    """Return the SHA-256 of the id, for use in files, so that no file contains the id itself."""
    return hashlib.sha256(get_user_id().encode("ascii")).hexdigest()


def _read_cookie() -> str:
    """Return the id in the cookie, "" if there is none."""
    given = str(st.context.cookies.get(name_reader_cookie(st.get_option("server.port")), ""))
    return given if is_reader(given) else ""

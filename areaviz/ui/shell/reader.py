"""Who is reading: a random id in a cookie, so that lists can show readers what is their own.

The gateway in front of the app sets the cookie, with and without an access token. Where the app
runs without the gateway (`streamlit run app.py`), the id lasts as long as the session.
"""

from __future__ import annotations

import hashlib

import streamlit as st

from areaviz.backend.access import is_reader, new_reader, reader_cookie
from areaviz.shares.visitors import Visitor, network_of

_KEY = "reader_id"


def reader_id() -> str:
    """Return the reader's id, 32 hexadecimal digits: of the cookie, or else of this session."""
    own: str = _cookie() or st.session_state.setdefault(_KEY, new_reader())
    return own


def visitor() -> Visitor:
    """Return the reader and the network address, by which shares are counted.

    The gateway hides addresses that many readers come from, so that they have no share. All
    sessions without a cookie are one visitor.
    """
    return Visitor(_cookie(), network_of(st.context.ip_address or ""))


def reader_mark() -> str:
    """Return the SHA-256 of the id, for files, so that no file holds what opens a session."""
    return hashlib.sha256(reader_id().encode("ascii")).hexdigest()


def _cookie() -> str:
    """Return the id in the cookie, "" where there is none."""
    given = str(st.context.cookies.get(reader_cookie(st.get_option("server.port")), ""))
    return given if is_reader(given) else ""

"""The picture of the front page: a stored example in the real ribbon, so that it can be
pointed at.
"""

from __future__ import annotations

import streamlit as st

from areaviz.data.places import ASSETS
from areaviz.trace import codec
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import ribbon
from areaviz.ui.shell.errors import show_errors

STORED = ASSETS / "home.npz"
FOCUS = Focus("encoder-decoder", layer=1, items=(32,))


def picture() -> None:
    """The stored example, with what it was made by."""
    with show_errors("showing the example"), st.container(border=True):
        trace = _stored(STORED.stat().st_mtime_ns)
        ribbon(trace, FOCUS, key="home")
        st.caption("A stored example. Point at any part of either sentence; click to keep it lit.")


@st.cache_resource(show_spinner=False, max_entries=1)
def _stored(modified: int) -> Trace:
    return codec.load(STORED)

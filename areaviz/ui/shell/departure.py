"""Frees what a session holds soon after its reader has left.

Streamlit keeps the session of a closed page, with its files and results, so that a page that lost
its connection can have it back. After two minutes it may go, but it is only looked at when the next
reader leaves. So the session is closed here, by Streamlit's public `close_session`, shortly before
that.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import time
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st
from streamlit import runtime

from areaviz.ui.shell.streamlit_private import session_id

SHARE = 5 / 6
"""Of the time that Streamlit keeps the session of a closed page: 100 of its 120 seconds."""
TIDY_SECONDS = 2.0
"""How long after that memory is given back, for all sessions that were closed meanwhile."""


@dataclass(frozen=True, slots=True)
class Presence:
    """An open page.

    Args:
        session: its id.
    """

    session: str


class Departures:
    """When closed pages were left, by session; used in Streamlit's event loop alone."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._tidying = False

    def leave(self, session: str, loop: asyncio.AbstractEventLoop) -> None:
        """Have a session closed, unless its page is open again by then."""
        self._times[session] = left = time.monotonic()
        seconds = SHARE * float(st.get_option("server.disconnectedSessionTTL"))
        loop.call_later(seconds, self._close, session, left, loop)

    def _close(self, session: str, left: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._times.get(session) != left or not runtime.exists():
            return  # the page was open again, and closed again
        del self._times[session]
        app = runtime.get_instance()
        if app.is_active_session(session):
            return
        app.close_session(session)
        if not self._tidying:  # once for all that leave together
            self._tidying = True
            loop.call_later(TIDY_SECONDS, self._tidy)

    def _tidy(self) -> None:
        """Give the memory of what is gone back to the machine."""
        self._tidying = False
        # What a session holds refers to itself. What was there when the models were opened is
        # frozen, so this is quick.
        gc.collect()
        # glibc alone has it; else freed memory waits in the process for its next use.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def note_presence() -> None:
    """Have this session closed some time after its page is closed; every page calls this."""
    session = session_id()
    if session is not None:
        _presence(session)


def _left(presence: Presence) -> None:
    """Streamlit calls this in its event loop, when the connection ends."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # a test's session, or the end of the app
        return
    _departures().leave(presence.session, loop)


@st.cache_resource(max_entries=1, show_spinner=False)
def _departures() -> Departures:
    return Departures()


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_left)
def _presence(session: str) -> Presence:
    return Presence(session)

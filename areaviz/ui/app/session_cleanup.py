"""Frees the memory of a session soon after its user has left.

Streamlit keeps the session of a closed page, with its files and results, so that a page that lost
its connection can get it back. The session expires after two minutes, but Streamlit only checks
that when another user leaves. This module therefore closes the session shortly before it expires,
by Streamlit's public `close_session`.
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

from areaviz.ui.app.streamlit_private import get_session_id

CLOSING_SHARE = 5 / 6
"""Share of the time that Streamlit keeps a closed page's session: 100 of its 120 seconds."""
CLEANUP_INTERVAL_SECONDS = 2.0
"""Seconds between closing sessions and returning memory, once for all sessions closed by then."""


@dataclass(frozen=True, slots=True)
class Presence:
    """An open page, by the id of its session."""

    session: str


class Departures:
    """The times when pages were closed, by session. Only Streamlit's event loop uses it."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._tidying = False

    def leave(self, session: str, loop: asyncio.AbstractEventLoop) -> None:
        """Close a session later, unless its page is open again by then."""
        self._times[session] = left = time.monotonic()
        seconds = CLOSING_SHARE * float(st.get_option("server.disconnectedSessionTTL"))
        loop.call_later(seconds, self._close, session, left, loop)

    def _close(self, session: str, left: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._times.get(session) != left or not runtime.exists():
            return  # The page was opened and closed again in the meantime.
        del self._times[session]
        app = runtime.get_instance()
        if app.is_active_session(session):
            return
        app.close_session(session)
        if not self._tidying:  # Return memory once for all sessions that end together.
            self._tidying = True
            loop.call_later(CLEANUP_INTERVAL_SECONDS, self._tidy)

    def _tidy(self) -> None:
        """Return freed memory to the operating system."""
        self._tidying = False
        # Sessions contain reference cycles. Objects that existed when the models were opened are
        # frozen, so this collection is fast.
        gc.collect()
        # Only glibc has this function. Elsewhere, freed memory stays in the process for reuse.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def keep_session_while_open() -> None:
    """Close this session some time after its page is closed. Every page calls this."""
    session = get_session_id()
    if session is not None:
        _get_presence(session)


def _handle_departure(presence: Presence) -> None:
    """Handle the end of a connection. Streamlit calls this in its event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # This is a session in a test, or the app is ending.
        return
    _get_departures().leave(presence.session, loop)


@st.cache_resource(max_entries=1, show_spinner=False)
def _get_departures() -> Departures:
    return Departures()


@st.cache_resource(scope="session", max_entries=1, show_spinner=False, on_release=_handle_departure)
def _get_presence(session: str) -> Presence:
    return Presence(session)

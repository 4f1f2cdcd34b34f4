"""What a reader sees when something fails: one sentence, never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from areaviz.trace.errors import BackendError, InputError
from areaviz.ui.shell.markdown import escaped, shortened

log = logging.getLogger(__name__)
SENTENCE_LIMIT = 400
_UNFORESEEN = (
    "Something went wrong while {doing}; it was written to the app's log, and your input is kept."
)


@contextmanager
def show_errors(doing: str) -> Iterator[None]:
    """Show what goes wrong in the block as one sentence.

    Args:
        doing: completes "Something went wrong while ...".
    """
    try:
        yield
    except Exception as error:
        problem(_sentence(error, doing))


@contextmanager
def defer_errors(doing: str, key: str) -> Iterator[None]:
    """The same in a callback, which runs before the page is drawn: `show_deferred` shows it."""
    try:
        yield
    except Exception as error:
        st.session_state[key] = _sentence(error, doing)


def show_deferred(key: str) -> None:
    """Show, once, what `defer_errors` caught under this key."""
    if sentence := st.session_state.pop(key, ""):
        problem(sentence)


def problem(sentence: str) -> None:
    """One sentence about what cannot be done and what to do."""
    st.error(escaped(shortened(sentence, SENTENCE_LIMIT)))


def _sentence(error: Exception, doing: str) -> str:
    """What the reader is told; what nobody foresaw goes to the log with its traceback."""
    if isinstance(error, (InputError, BackendError)):
        return str(error)
    log.error("While %s", doing, exc_info=error)
    return _UNFORESEEN.format(doing=doing)

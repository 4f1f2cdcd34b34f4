"""What a reader sees when something fails: one sentence in a calm panel, never a traceback."""

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
def calm(doing: str) -> Iterator[None]:
    """Show what goes wrong in the block as one sentence; `doing` completes "Something went wrong
    while ...".
    """
    try:
        yield
    except (InputError, BackendError) as error:
        problem(str(error))
    except Exception:
        log.exception("While %s", doing)
        problem(_UNFORESEEN.format(doing=doing))


@contextmanager
def calm_later(doing: str, key: str) -> Iterator[None]:
    """The same in a callback, which runs before the page is drawn: `told_later` shows the sentence
    in its place.
    """
    try:
        yield
    except (InputError, BackendError) as error:
        st.session_state[key] = str(error)
    except Exception:
        log.exception("While %s", doing)
        st.session_state[key] = _UNFORESEEN.format(doing=doing)


def told_later(key: str) -> None:
    """Show, once, what `calm_later` caught under this key."""
    if sentence := st.session_state.pop(key, ""):
        problem(sentence)


def problem(sentence: str) -> None:
    """One sentence about what cannot be done and what to do."""
    st.error(escaped(shortened(sentence, SENTENCE_LIMIT)))

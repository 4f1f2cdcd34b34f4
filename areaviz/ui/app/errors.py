"""Errors on pages: the user sees one sentence, never a traceback."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from areaviz.texts.catalogue import message
from areaviz.trace.errors import BackendError, InputError
from areaviz.ui.app.language import sentence
from areaviz.ui.app.markdown import escape_markdown, shorten_line

log = logging.getLogger(__name__)
MAX_SENTENCE_CHARACTERS = 400
# Matches an absolute path of any system or the URL of an SQLite file, but not a part of a URL such
# as http://host/place.
_NAME = r"[^\s/\\\"'“”;:,()]"
_PATH = re.compile(rf"sqlite:/+\S*|(?<![\w/\\:.])(?:/|[A-Za-z]:[/\\])(?:{_NAME}+[/\\])+{_NAME}*")
_UNFORESEEN = message(
    "Something went wrong while {doing}. The error is in the app's log, and your input is kept."
)


@contextmanager
def show_errors(doing: str) -> Iterator[None]:
    """Show an error raised in the block as one sentence.

    Args:
        doing: completes "Something went wrong while ...".
    """
    try:
        yield
    except Exception as error:
        show_error(_describe_error(error, doing))


@contextmanager
def defer_errors(doing: str, key: str) -> Iterator[None]:
    """Keep an error of a callback for `show_deferred`.

    A callback cannot show its error, because it runs before the page is drawn.
    """
    try:
        yield
    except Exception as error:
        st.session_state[key] = _describe_error(error, doing)


def show_deferred(key: str) -> None:
    """Show the error that `defer_errors` kept under this key, once."""
    if text := st.session_state.pop(key, ""):
        show_error(text)


def show_error(text: str) -> None:
    """Show one sentence without the names of folders.

    The sentence says what failed and what the user can do.
    """
    st.error(escape_markdown(shorten_line(remove_folders(text), MAX_SENTENCE_CHARACTERS)))


def remove_folders(text: str) -> str:
    """Return a sentence in which every absolute path is replaced by its file name.

    Users need not know where the operator keeps files. The operator's log has the whole path.
    """
    return _PATH.sub(lambda found: re.split(r"[/\\]", found[0])[-1] or "a folder", text)


def _describe_error(error: Exception, doing: str) -> str:
    """Return the sentence for the user. Log unexpected errors with their traceback."""
    if isinstance(error, (InputError, BackendError)):
        text = str(error)
        if remove_folders(text) != text:
            log.warning("While %s: %s", doing, text)
        return text
    log.error("While %s", doing, exc_info=error)
    return sentence(_UNFORESEEN, doing=sentence(doing))

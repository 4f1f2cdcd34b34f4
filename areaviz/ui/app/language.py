"""The language of the page: from its address, else the earlier choice, else the browser's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlencode

import streamlit as st

from areaviz.texts.catalogue import ENGLISH, KNOWN, LANGUAGES, find_language, translate
from areaviz.ui.app.streamlit_private import is_drawing

LANG = "lang"
"""The URL parameter of the language, which pages keep."""
_CHOSEN = "language"
_WRITTEN: ContextVar[str] = ContextVar("written", default=ENGLISH)
"""The language of files that are written outside the app."""


def get_language() -> str:
    """Return the language in which the page is drawn, or in which files are written."""
    if not is_drawing():
        return _WRITTEN.get()
    asked = st.query_params.get(LANG, "")
    if asked in KNOWN:
        st.session_state[_CHOSEN] = asked
    chosen: str = st.session_state.get(_CHOSEN, "")
    return chosen or find_language(st.context.locale)


@contextmanager
def written_in(code: str) -> Iterator[None]:
    """Write files in a language, one of `catalogue.KNOWN`, within this block."""
    before = _WRITTEN.set(code)
    try:
        yield
    finally:
        _WRITTEN.reset(before)


def sentence(english: str, /, **values: object) -> str:
    """Return a text of the catalogue in the language of the page; see `translated`."""
    return translate(english, get_language(), **values)


def language_params() -> dict[str, str]:
    """Return the URL parameter of the language, or nothing if the browser's language applies."""
    get_language()
    chosen = st.session_state.get(_CHOSEN) if is_drawing() else None
    return {LANG: chosen} if chosen else {}


def with_language(address: str) -> str:
    """Return an address of the app with the parameter of the language, if one was chosen."""
    params = urlencode(language_params())
    if not params:
        return address
    page, mark, anchor = address.partition("#")
    return f"{page}{'&' if '?' in page else '?'}{params}{mark}{anchor}"


def without_language(params: Mapping[str, str]) -> dict[str, str]:
    """Return URL parameters without the language, because a link does not depend on it."""
    return {name: value for name, value in params.items() if name != LANG}


def language_switch() -> None:
    """Draw a button for every other language. It keeps all other parameters of the address."""
    here = get_language()
    for code, name in LANGUAGES.items():
        if code != here:
            st.button(
                name, key=f"{LANG}_{code}", type="tertiary", on_click=_choose_language, args=(code,)
            )


def _choose_language(code: str) -> None:
    st.session_state[_CHOSEN] = code
    st.query_params[LANG] = code

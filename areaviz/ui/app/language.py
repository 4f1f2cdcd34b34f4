"""The language of the page: from its address, else the earlier choice, else the browser's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlencode

import streamlit as st

from areaviz.texts.catalogue import ENGLISH, KNOWN, LANGUAGES, find_language, translate
from areaviz.ui.app.streamlit_private import is_drawing_page

LANGUAGE_PARAM = "lang"
"""The URL parameter of the language, which pages keep."""
_LANGUAGE_KEY = "language"
_FILE_LANGUAGE: ContextVar[str] = ContextVar("written", default=ENGLISH)
"""The language of files that are written outside the app."""


def get_language() -> str:
    """Return the language in which the page is drawn, or in which files are written."""
    if not is_drawing_page():
        return _FILE_LANGUAGE.get()
    asked = st.query_params.get(LANGUAGE_PARAM, "")
    if asked in KNOWN:
        st.session_state[_LANGUAGE_KEY] = asked
    chosen: str = st.session_state.get(_LANGUAGE_KEY, "")
    return chosen or find_language(st.context.locale)


@contextmanager
def write_in_language(code: str) -> Iterator[None]:
    """Write files in a language, one of `catalogue.KNOWN`, within this block."""
    before = _FILE_LANGUAGE.set(code)
    try:
        yield
    finally:
        _FILE_LANGUAGE.reset(before)


def sentence(english: str, /, **values: object) -> str:
    """Return a text of the catalogue in the language of the page; see `translated`."""
    return translate(english, get_language(), **values)


def get_language_params() -> dict[str, str]:
    """Return the URL parameter of the language, or nothing if the browser's language applies."""
    get_language()
    chosen = st.session_state.get(_LANGUAGE_KEY) if is_drawing_page() else None
    return {LANGUAGE_PARAM: chosen} if chosen else {}


def add_language(address: str) -> str:
    """Return an address of the app with the parameter of the language, if one was chosen."""
    params = urlencode(get_language_params())
    if not params:
        return address
    page, mark, anchor = address.partition("#")
    return f"{page}{'&' if '?' in page else '?'}{params}{mark}{anchor}"


def remove_language(params: Mapping[str, str]) -> dict[str, str]:
    """Return URL parameters without the language, because a link does not depend on it."""
    return {name: value for name, value in params.items() if name != LANGUAGE_PARAM}


def draw_language_switch() -> None:
    """Draw a button for every other language. It keeps all other parameters of the address."""
    here = get_language()
    for code, name in LANGUAGES.items():
        if code != here:
            st.button(
                name,
                key=f"{LANGUAGE_PARAM}_{code}",
                type="tertiary",
                on_click=_choose_language,
                args=(code,),
            )


def _choose_language(code: str) -> None:
    st.session_state[_LANGUAGE_KEY] = code
    st.query_params[LANGUAGE_PARAM] = code

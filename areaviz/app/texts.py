"""Texts on pages: escaping of Markdown, the language, errors, and tables for reading."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st

from areaviz.app.run import is_drawing_page
from areaviz.draw.labels import escape_controls as visible
from areaviz.texts.catalogue import ENGLISH, KNOWN, LANGUAGES, find_language, message, translate
from areaviz.trace.errors import BackendError, InputError

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style_render import CSSDict


# Escaping of users' texts, so that Streamlit does not read them as Markdown.


__all__ = ["pluralise", "escape_markdown", "shorten_line", "visible"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def escape_markdown(text: str) -> str:
    """Return `text` on one line, escaped for labels, captions and errors, which read Markdown.

    It is displayed unchanged, except for sequences such as "->", "--" and ">=", which Streamlit
    draws as the symbols that they represent.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(text).split()))


def shorten_line(text: str, limit: int = 60) -> str:
    """Return `text` on one line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def pluralise(count: int, what: str) -> str:
    """Return a count with its noun: "1 note", "2,000 notes"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


# The language of the page: from its address, else the earlier choice, else the browser's.


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
    """Return a text of the catalogue in the language of the page; see `translate`."""
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


# Errors on pages: the user sees one sentence, never a traceback.


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


# Tables for reading: text is aligned to the left, columns of numbers to the right.


# A number with sign, unit and marks, an interval of two numbers, or a dash for a missing value.
_NUMBER = re.compile(r"[+−±-]?[\d,.]+ ?[%×*]?")
_RANGE_SEPARATOR = re.compile(r" ?± ?| to ")
_EMPTY_CELLS = {"", "–"}


def draw_text_table(table: pd.DataFrame | Mapping[str, Sequence[str]]) -> None:
    """Draw a table without an index. Its cells are Markdown text."""
    # Import here: pandas takes half a second and 60 MB, which pages without a table save.
    import pandas as pd

    frame = pd.DataFrame(table)
    places = [place for place, name in enumerate(frame) if are_numbers(frame[name])]
    if not places:
        # Styles take most of a table's time.
        st.table(frame, border="horizontal", hide_index=True)
        return
    right = {"text-align": "right !important"}
    # A column of dashes is aligned like a column of numbers.
    places += [place for place, name in enumerate(frame) if are_empty(frame[name])]
    style = frame.style.set_properties(subset=frame.columns[places], **right)
    # Align the titles with the numbers.
    rules: list[CSSDict] = []
    for place in places:
        rules.append({"selector": f"th.col{place}", "props": list(right.items())})
    st.table(style.set_table_styles(rules), border="horizontal", hide_index=True)


def draw_lazy_expander(label: str, key: str) -> Any:
    """Return an expander. Draw its content only while it is `open`."""
    return st.expander(label, key=key, type="compact", on_change="rerun")


def are_numbers(cells: Iterable[object]) -> bool:
    """Return whether every non-empty cell is a number, and at least one cell is."""
    said = _list_cell_texts(cells)
    return bool(said) and all(_is_number(cell) for cell in said)


def are_empty(cells: Iterable[object]) -> bool:
    """Return whether there are cells and each is empty or a dash."""
    cells = list(cells)
    return bool(cells) and not _list_cell_texts(cells)


def _list_cell_texts(cells: Iterable[object]) -> list[str]:
    """Return the texts of the cells, without empty cells and dashes."""
    # A cell may be escaped for Markdown.
    texts = [str(cell).replace("\\", "").strip() for cell in cells]
    return [text for text in texts if text not in _EMPTY_CELLS]


def _is_number(cell: str) -> bool:
    return all(_NUMBER.fullmatch(part) for part in _RANGE_SEPARATOR.split(cell) if part)

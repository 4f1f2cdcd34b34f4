"""The frame of every page: one reading column, a title, and what the page is for in one line."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from areaviz.data.places import ROOT
from areaviz.ui.look.focus_state import turn_to
from areaviz.ui.shell.admission import admitted, refuse
from areaviz.ui.shell.departure import note_presence

# Static text: nothing a user wrote ever becomes part of it.
_STYLE = """
[data-testid="stElementContainer"]:has([data-testid="stMarkdownContainer"] > style) { display: none; }
.st-key-returning { display: none; }
[data-testid="stMainBlockContainer"] { max-width: 76rem; padding-top: 3.5rem; padding-bottom: 4rem; }
[data-testid="stMainBlockContainer"] p, [data-testid="stCaptionContainer"] { max-width: 46rem; }
[data-testid="stText"] { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
[class*="st-key-translation"] [data-testid="stText"] { font-size: 1.3rem; line-height: 1.5; }
[data-testid="stPageLink-NavLink"] { padding-left: 0; padding-right: 0; }
[data-testid="stPageLink-NavLink"] p { text-decoration: underline; text-underline-offset: 0.2em; }
[data-testid="stPageLink-NavLink"]:hover { background: none; }
button:is([data-variant="segmented_control"], [data-variant="pills"])[data-selected="true"] {
  color: inherit !important; }
[data-testid="stSliderThumbValue"] { color: inherit !important; }
[class*="st-key-ways"] [data-testid="stImage"] img { image-rendering: pixelated; }
@media (min-width: 62rem) { .st-key-ways [data-testid="stCaptionContainer"] p { min-height: 2lh; } }
@media (max-width: 62rem) { .st-key-ways [data-testid="stColumn"] { min-width: calc(50% - 1rem); } }
@media (max-width: 62rem) { .st-key-sights [data-testid="stColumn"] { min-width: 13rem; } }
@media (max-width: 62rem) { [class*="st-key-pair"] [data-testid="stColumn"] { min-width: 100%; } }
"""


def page_frame(title: str, purpose: str) -> None:
    """Title and purpose of a page, and the column it is read in; nothing of it for who was not
    admitted.

    app.py asks the same. A page asks for itself, too, so that no way to it leads around the
    question.
    """
    _enter_by_app()
    if not admitted():
        refuse()
        st.stop()
    note_presence()
    turn_to(title)
    stylesheet(_STYLE)
    st.title(title, anchor=False)
    st.caption(purpose)


def page_link(page: str, label: str, query_params: Mapping[str, str] | None = None) -> None:
    """A link to a page; page: its path from the repository's root, wherever the script that
    Streamlit runs lies.
    """
    st.page_link(str(ROOT / page), label=label, query_params=dict(query_params or {}))


def stylesheet(rules: str) -> None:
    """Add CSS rules to the page; the frame's own first.

    By Markdown, which is part of Streamlit's own bundle: of `st.html`, loaded on demand, nothing at
    all was drawn in some loads of a page (Streamlit 1.67 on a busy machine: 3 of 16). The rules
    hold their own element out of sight.
    """
    st.markdown(f"<style>{rules}</style>", unsafe_allow_html=True)


def _enter_by_app() -> None:
    """Begin again with app.py if Streamlit ran the page without it, as `streamlit run app.py` does
    at first.

    Where there is a folder named pages, Streamlit runs its files by themselves, with a navigation
    of its own, until app.py has run once in the process: the first visitor of a fresh server would
    see that, coming by a link.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()

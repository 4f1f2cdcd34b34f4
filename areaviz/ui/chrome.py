"""The frame of every page: one reading column, a title, and what the page is for in one line."""

from __future__ import annotations

import streamlit as st

# Static text: nothing a user wrote ever becomes part of it.
_STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 76rem; padding-top: 3.5rem; padding-bottom: 4rem; }
[data-testid="stMainBlockContainer"] p, [data-testid="stCaptionContainer"] { max-width: 46rem; }
[data-testid="stText"] { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
[class*="st-key-translation"] [data-testid="stText"] { font-size: 1.3rem; line-height: 1.5; }
</style>"""


def page_frame(title: str, purpose: str) -> None:
    """Title and purpose of a page, and the column it is read in."""
    st.html(_STYLE)
    st.title(title, anchor=False)
    st.caption(purpose)

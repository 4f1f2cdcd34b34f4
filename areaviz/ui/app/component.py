"""Mounting of the browser components in Streamlit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from areaviz.show.parts import COMPONENTS, TEXTS, read_parts
from areaviz.texts.catalogue import ENGLISH
from areaviz.ui.app.language import get_language


def get_component(name: str) -> Any:
    """Return the Streamlit component of this name in the language of the page.

    Streamlit has no types for it.
    """
    has_texts = TEXTS in COMPONENTS[name]
    return register_component(name, get_language() if has_texts else ENGLISH)


@lru_cache(maxsize=64)
def register_component(name: str, language: str) -> Any:
    """Return a Streamlit component with its texts in a language. It is registered at first use."""
    made = read_parts(name, language)
    script = f"{made.js}\nexport default mount;\n"
    own = f"areaviz.{name}" if language == ENGLISH else f"areaviz.{name}-{language}"
    return st.components.v2.component(own, html=made.html, css=made.css, js=script)


def get_report(key: str, name: str) -> Any:
    """Return the last report of the component with this key under a name, None for no report."""
    state = st.session_state.get(key)
    return state.get(name) if state else None


def ignore_report() -> None:
    """Do nothing, because a report already reruns the page, which reads the reports itself."""

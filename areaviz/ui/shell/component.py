"""Mounting of the browser components in Streamlit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import streamlit as st

from areaviz.components.parts import parts


@lru_cache(maxsize=16)
def component(name: str) -> Any:
    """Return the Streamlit component `areaviz.NAME`, which is registered at first use.

    Streamlit has no types for it.

    Args:
        name: a key of `areaviz.components.parts.COMPONENTS`.
    """
    made = parts(name)
    script = f"{made.js}\nexport default mount;\n"
    return st.components.v2.component(f"areaviz.{name}", html=made.html, css=made.css, js=script)

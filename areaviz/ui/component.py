"""Components of the browser side, put together from their files."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st


@lru_cache(maxsize=16)
def component(name: str, *paths: str) -> Any:
    """The component `areaviz.NAME`, registered at first use; Streamlit has no types for it.

    paths: its HTML, style sheets and scripts, within `areaviz/ui`; those of one kind are joined in the order given, the
    style sheet that all components share before them.
    """
    return st.components.v2.component(
        f"areaviz.{name}",
        html=_joined(paths, ".html"),
        css=_joined(("component.css", *paths), ".css"),
        js=_joined(paths, ".js"),
    )


def _joined(paths: tuple[str, ...], kind: str) -> str:
    folder = files("areaviz.ui")
    return "\n".join(folder.joinpath(path).read_text("utf-8") for path in paths if path.endswith(kind))

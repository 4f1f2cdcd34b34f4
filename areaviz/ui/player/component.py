"""Mounts the browser component: the pictures travel once, and nothing that is done with them comes back."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st

from areaviz.views.base import Played


def player(played: Played, label: str, *, key: str) -> None:
    """Show the first picture, with a button that plays and pauses, and a scrubber with a stop for every word.

    label: what it is called for those who do not see it. key: unique on the page.
    """
    data = {
        "label": label,
        "title": played.title,
        "note": played.note,
        "words": list(played.words),
        "pictures": list(played.pictures),
        "milliseconds": played.milliseconds,
    }
    _component()(key=key, data=data)


@cache
def _component() -> Any:
    """The component, registered at first use; Streamlit has no types for it."""
    folder = files("areaviz.ui.player")
    html, css, js = (folder.joinpath(f"player.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    return st.components.v2.component("areaviz.player", html=html, css=css, js=js)

"""The image grid on a page: mounts the browser component and gives back what is locked in it, and seen how.

Like the ribbon, whose parts it shares: the data of a trace, site and layer travels once, a click sends a few bytes.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.ribbon.component import Mounted, Selection, last_report, mounted, plain
from areaviz.views.grid import grid_payload
from areaviz.views.message import packed

SHARED = ("data.js", "text.js", "legend.js", "looking.js")
"""What the ribbon's folder lends."""

SCRIPTS = ("pictured.js", "marks.js", "picture.js", "chips.js", "words.js", "grid.js")


def grid(trace: Trace, focus: Focus, *, key: str, link: str | None = None) -> Selection:
    """Show the image grid of the focused site and layer; returns what is locked, if anything, and seen how.

    key: unique on the page. link: grids with one link light up the same words, and the same cells of one picture; a
    ribbon of that link lights up the words as well. The focus gives the first selection; a different one later on
    (from another view) moves the grid to it. Raises ValueError when the site does not attend to cells of a picture.
    """
    place = f"{key}:mounted"
    shown = _mounted(st.session_state.get(place), trace, focus).heard(last_report(key), Selection.of(focus))
    st.session_state[place] = shown
    _component()(
        key=key,
        data=packed(shown.payload, selection=plain(shown.sent), serial=shown.serial, link=link),
        on_selection_change=lambda: None,
    )
    return shown.current


def _mounted(before: Mounted | None, trace: Trace, focus: Focus) -> Mounted:
    return mounted(before, trace, focus, _built)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs={Trace: id})
def _built(trace: Trace, site: str, layer: int) -> tuple[Trace, dict[str, Any]]:
    """The data of one grid, shared by all sessions; holding the trace as well keeps its id from being used again."""
    return trace, grid_payload(trace, Focus(site, layer))


@cache
def _component() -> Any:
    """The component, registered at first use; Streamlit has no types for it."""
    lent, own = files("areaviz.ui.ribbon"), files("areaviz.ui.grid")
    scripts = [lent.joinpath(name) for name in SHARED] + [own.joinpath(name) for name in SCRIPTS]
    styles = [lent.joinpath("ribbon.css"), own.joinpath("grid.css")]
    return st.components.v2.component(
        "areaviz.grid",
        html=own.joinpath("grid.html").read_text("utf-8"),
        css="\n".join(style.read_text("utf-8") for style in styles),
        js="\n".join(script.read_text("utf-8") for script in scripts),
    )

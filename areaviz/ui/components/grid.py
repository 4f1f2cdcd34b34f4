"""The image grid on a page: mounts the browser component and gives back what is locked in it, and
seen how.

Like the ribbon, whose parts it shares: the data of a trace, site and layer travels once, a click
sends a few bytes.
"""

from __future__ import annotations

import streamlit as st

from areaviz.interactive.grid import grid_payload
from areaviz.interactive.message import packed
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Mounted, Selection, last_report, mounted, plain
from areaviz.ui.look.payloads import Payload
from areaviz.ui.shell.component import component


def grid(trace: Trace, focus: Focus, *, key: str, link: str | None = None) -> Selection:
    """Show the image grid of the focused site and layer; returns what is locked, if anything, and
    seen how.

    key: unique on the page. link: grids with one link light up the same words, and the same cells
    of one picture; a ribbon of that link lights up the words as well. The focus gives the first
    selection; a different one later on (from another view) moves the grid to it. Raises ValueError
    when the site does not attend to cells of a picture.
    """
    place = f"{key}:mounted"
    shown = _mounted(st.session_state.get(place), trace, focus).heard(
        last_report(key), Selection.of(focus)
    )
    st.session_state[place] = shown
    component("grid")(
        key=key,
        data=packed(shown.payload, selection=plain(shown.sent), serial=shown.serial, link=link),
        on_selection_change=lambda: None,
    )
    return shown.current


def _mounted(before: Mounted | None, trace: Trace, focus: Focus) -> Mounted:
    return mounted(before, trace, focus, "grid", _made)


def _made(trace: Trace, site: str, layer: int) -> Payload:
    return grid_payload(trace, Focus(site, layer))

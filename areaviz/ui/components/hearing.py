"""A sound on a page, which is played under the attention of every output item."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.interactive.message import packed
from areaviz.publish.hearing import hearing_payload, sound_address
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.trace.sound import Sound
from areaviz.ui.components.reported import reported
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component


def hearing(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the player and let the user choose an item; return the locked selection.

    Args:
        trace: a trace of a sound.
        focus: the first item; a change by another view moves the frame to the new one.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Sounds of two models are played separately.
        matches: unused, as `link`.
    """
    made = hearing_payload(trace, focus, _audio)
    items = tuple(sorted(focus.items)[:1]) if focus.side == "query" else ()
    chosen = reported(key, made)
    items = items if chosen is None else chosen
    component("hearing")(key=key, data=packed(made, items=items), on_selection_change=lambda: None)
    return Selection.of(replace(focus, side="query", items=items))


@st.cache_data(max_entries=16, show_spinner=False)
def _audio(sound: Sound) -> str:
    return sound_address(sound)

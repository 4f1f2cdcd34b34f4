"""A clip on a page, as a film strip over one lane for each word of its description."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.interactive.message import packed
from areaviz.interactive.strip import frame_addresses, strip_payload
from areaviz.trace.clip import Clip
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.reported import reported
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component


def watched(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the film strip and let the user keep words; return the locked selection.

    Args:
        trace: a trace of a clip.
        focus: the first words; a change by another view replaces the kept ones.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Clips of two models have separate selections.
        matches: unused, as `link`.
    """
    made = strip_payload(trace, focus, _frames)
    kept = tuple(sorted(focus.items)) if focus.side == "query" else ()
    chosen = reported(key, made)
    if chosen is not None:
        kept = tuple(item for item in chosen if item < len(made["header"]["words"]))
    component("strip")(key=key, data=packed(made, items=kept), on_selection_change=lambda: None)
    return Selection.of(replace(focus, side="query", items=kept))


@st.cache_data(max_entries=16, show_spinner=False)
def _frames(clip: Clip, numbers: tuple[int, ...]) -> list[str]:
    return frame_addresses(clip, numbers)

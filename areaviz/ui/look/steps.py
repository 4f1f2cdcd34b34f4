"""The steps of a pointer network, one after another; the selection in its traces."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection


def steps(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Let the user choose a step, and return it as the locked selection; the last is the default.

    Args:
        trace: a trace of points.
        focus: has the first step; a changed step moves the slider.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Steps of two models move independently.
        matches: unused; points have no words in common.
    """
    last = len(trace.fields[trace.maps[focus.site].query])
    asked = min(focus.items, default=last - 1) + 1 if focus.side == "query" else last
    known = f"{key}:asked"
    if st.session_state.get(known) != asked or key not in st.session_state:
        st.session_state[key] = st.session_state[known] = min(asked, last)
    step = int(st.slider("Step", 1, last, key=key))
    st.session_state[known] = step
    return Selection.of(replace(focus, side="query", items=(step - 1,)))

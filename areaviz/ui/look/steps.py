"""The steps of a pointer network, one after the other: what is pointed at in its traces."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.drawing.base import Takeaway
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.views import VIEWS

POINTS = Takeaway(name="points", table=VIEWS["points"].table, print=VIEWS["points"].print)
"""The picture of a step as files."""


def steps(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Let a step be chosen; returns it as what is locked. At first it is the last one.

    Args:
        trace: of points.
        focus: gives the first step; a different one later on moves the slider to it.
        key: unique on the page.
        link: is there because other components have it; steps of two models are moved one by one.
        matches: the same; points have no words in common.
    """
    last = len(trace.fields[trace.maps[focus.site].query])
    asked = min(focus.items, default=last - 1) + 1 if focus.side == "query" else last
    known = f"{key}:asked"
    if st.session_state.get(known) != asked or key not in st.session_state:
        st.session_state[key] = st.session_state[known] = min(asked, last)
    step = int(st.slider("Step", 1, last, key=key))
    st.session_state[known] = step
    return Selection.of(replace(focus, side="query", items=(step - 1,)))

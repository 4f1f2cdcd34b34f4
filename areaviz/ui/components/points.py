"""Points on a page: the user steps through the answer, and moves the points in the drawing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from areaviz.data.points import MOST
from areaviz.interactive.message import packed
from areaviz.interactive.points import first_step, points_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.hops import can_ask
from areaviz.ui.components.reported import reported
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component
from areaviz.ui.shell.page import open_page


def points(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the points and the answer up to a step; return the step as the locked selection.

    Args:
        trace: a trace of points.
        focus: the first step; a change by another view moves the drawing to the new one.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Steps of two models move independently.
        matches: unused; points have no words in common.
    """
    made = points_payload(trace, focus)
    step = min(focus.items, default=first_step(trace)) if focus.side == "query" else 0
    (step,) = reported(key, made) or (step,)
    can_edit = can_ask() and not trace.request.changes
    acts = component("points")(
        key=key,
        data=packed(made, items=[step], most=MOST, canEdit=can_edit),
        on_selection_change=lambda: None,
        on_edited_change=lambda: None,
    )
    if can_edit and acts.edited is not None:
        page: Any = open_page()
        page.hold(page.state.edited(str(acts.edited)))
        st.rerun()
    return Selection.of(replace(focus, side="query", items=(step,)))

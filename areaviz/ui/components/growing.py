"""A growing tree on a page: the user steps through its brackets."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.interactive.message import packed
from areaviz.interactive.tree import first_step, tree_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component


def growing(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the tree up to a step; return the step as the locked selection.

    Args:
        trace: a trace in which the tokens of a tree attend to a sentence.
        focus: the first step; a change by another view moves the tree to the new one.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Trees of two models grow independently.
        matches: unused, as `link`.
    """
    made = tree_payload(trace, focus)
    step = first_step(made["header"])
    if focus.side == "query" and focus.items:
        step = min(focus.items)
    state = st.session_state.get(key)
    report = state.get("step") if state else None
    known = f"{key}:report"
    if (
        report is not None
        and report != st.session_state.get(known)
        and report["id"] == made["header"]["id"]
    ):
        step, focus = int(report["step"]), replace(focus, side="query")
    st.session_state[known] = report
    component("tree")(key=key, data=packed(made, step=step), on_step_change=lambda: None)
    return Selection.of(replace(focus, items=(step,)) if focus.side == "query" else focus)

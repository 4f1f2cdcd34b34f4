"""A growing tree on a page: the user steps through its brackets."""

from __future__ import annotations

from dataclasses import replace

from areaviz.interactive.message import packed
from areaviz.interactive.tree import first_step, tree_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.reported import reported
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
    chosen = reported(key, made)
    if chosen is not None:
        (step,), focus = chosen, replace(focus, side="query")
    component("tree")(key=key, data=packed(made, items=[step]), on_selection_change=lambda: None)
    return Selection.of(replace(focus, items=(step,)) if focus.side == "query" else focus)

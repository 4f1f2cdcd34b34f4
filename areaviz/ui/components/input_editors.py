"""Pictures in which users edit the input of Reason: facts by hops, and points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from areaviz.samples.reasoning import MOST
from areaviz.show.facts.facts import make_hops_payload
from areaviz.show.message import serialise_payload
from areaviz.show.points.points import choose_first_step, make_points_payload
from areaviz.trace.changes import Hide
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.component import get_component, ignore_report
from areaviz.ui.app.engine import find_card
from areaviz.ui.app.page import get_open_page
from areaviz.ui.components.items import choose_items, list_queries
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.forms.options import STORED_FILE_KEY
from areaviz.ui.what_if.state import Interventions, decode_draft


def draw_hops(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw facts and hops, where the user edits the story, or asks without one fact.

    All hops are drawn, so the selection stays.
    """
    card = find_card(trace.request.model)
    right = card.figures.get("test", {}).get("right") if card else None
    can_ask, can_edit = _can_run_input(), _can_run_input() and not trace.request.changes
    acts = get_component("hops")(
        key=key,
        data=serialise_payload(
            make_hops_payload(trace, focus), canAsk=can_ask, canEdit=can_edit, right=right
        ),
        on_edited_change=ignore_report,
        on_without_change=ignore_report,
    )
    _apply_edit(acts, can_edit)
    if can_ask and acts.without is not None:
        fact = int(acts.without)
        hidden = Hide(trace.maps[focus.site].memory, (fact,))
        page: Any = get_open_page()
        decode_draft(page, trace.request, Interventions((hidden,) if fact >= 0 else ()))
        st.rerun()
    return Selection.from_focus(focus)


def draw_points(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw points, which the user moves, and the answer up to the selected step."""
    first = choose_first_step(trace) if focus.side == "query" else 0
    can_edit = _can_run_input() and not trace.request.changes
    items, acts = choose_items(
        "points",
        make_points_payload(trace, focus),
        list_queries(focus)[:1] or (first,),
        key,
        most=MOST,
        canEdit=can_edit,
        on_edited_change=ignore_report,
    )
    _apply_edit(acts, can_edit)
    return Selection.from_focus(replace(focus, side="query", items=items))


def _can_run_input() -> bool:
    """Return whether the page runs a model on input that the user writes in a picture."""
    is_stored = st.session_state.get(STORED_FILE_KEY) is not None
    return get_open_page().state.is_written_in_pictures and not is_stored


def _apply_edit(acts: Any, can_edit: bool) -> None:
    """Run the model on an input that the user edited in the picture."""
    if can_edit and acts.edited is not None:
        page: Any = get_open_page()
        page.set_state(page.state.with_text(str(acts.edited)))
        st.rerun()

"""Facts by hops on a page: the user edits the story in the picture, or asks without one fact."""

from __future__ import annotations

from typing import Any

import streamlit as st

from areaviz.interactive.hops import hops_payload
from areaviz.interactive.message import packed
from areaviz.trace.interventions import Hide
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.forms.reason_form import ReasonState
from areaviz.ui.forms.stored_file import KEY as STORED_FILE
from areaviz.ui.shell.component import component
from areaviz.ui.shell.engine import known_card
from areaviz.ui.shell.page import open_page
from areaviz.ui.what_if.state import Interventions, decode


def hops(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the facts and hops, and follow what the user does in them; return the selection.

    Args:
        trace: a trace of a story with a question.
        focus: the selection, which is returned as it is: all hops are drawn.
        key: a widget key that is unique on the page.
        link: unused; other components have it.
        matches: unused, as `link`.
    """
    page: Any = open_page()
    is_stored = st.session_state.get(STORED_FILE) is not None
    can_ask = isinstance(page.state, ReasonState) and not is_stored
    can_edit = can_ask and not trace.request.changes
    card = known_card(trace.request.model)
    right = card.figures.get("test", {}).get("right") if card else None
    made = hops_payload(trace, focus)
    acts = component("hops")(
        key=key,
        data=packed(made, canAsk=can_ask, canEdit=can_edit, right=right),
        on_edited_change=_nothing,
        on_without_change=_nothing,
    )
    if can_edit and acts.edited is not None:
        page.hold(page.state.edited(str(acts.edited)))
        st.rerun()
    if can_ask and acts.without is not None:
        fact = int(acts.without)
        hidden = Hide(trace.maps[focus.site].memory, (fact,))
        decode(page, trace.request, Interventions((hidden,) if fact >= 0 else ()))
        st.rerun()
    return Selection.of(focus)


def _nothing() -> None:
    """Do nothing, because the component returns what the user did."""

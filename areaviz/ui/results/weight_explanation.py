"""Why an area has its weight: a tab about the locked selection."""

from __future__ import annotations

import streamlit as st

from areaviz.backend.backend import Caller
from areaviz.draw.labels import escape_controls
from areaviz.show.why import Question, find_heaviest_head, list_candidates, make_weight_view
from areaviz.trace.derived import Logits, find_known_logits, has_logits
from areaviz.trace.query import find_smallest_area_size
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.engine import find_card, get_backend
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.page import AnyPage
from areaviz.ui.app.progress import draw_progress
from areaviz.ui.app.user_identity import get_visitor
from areaviz.ui.results.chart import draw_view_chart

TAB_TITLE = "Why this weight"


def draw_weight_explanation(page: AnyPage, trace: Trace, focus: Focus) -> None:
    """Draw the content of the tab."""
    with show_errors("explaining a weight"):
        st.caption(
            "An area's weight is the softmax of its logit, and the logit is a sum of terms. Compare"
            " two areas to see which term makes one heavier."
        )
        chosen = _choose_question(page, trace, focus)
        if chosen is not None:
            draw_view_chart(
                make_weight_view(_get_logit_terms(trace, focus), chosen), trace, focus, "why"
            )


def has_terms(trace: Trace, focus: Focus) -> bool:
    """Return whether queries and keys were recorded, or an available model can compute them."""
    attention = trace.maps.get(focus.site)
    if attention is None:
        return False
    if has_logits(trace, focus.site):
        return True
    card = find_card(trace.request.model)
    return card is not None and card.has_logits and not attention.derived and get_backend().explains


def _choose_question(page: AnyPage, trace: Trace, focus: Focus) -> Question | None:
    """Return the chosen query, head and areas. Say what is missing."""
    attention = trace.maps[focus.site]
    if focus.side != "query" or not focus.items:
        st.caption("First select the word or cell that attends, in the figure above.")
        return None
    labels = trace.fields[attention.query].labels
    options = {item: f"{escape_controls(labels[item])} (item {item + 1})" for item in focus.items}
    with st.container(horizontal=True, gap="medium"):
        query = focus.items[0]
        if len(options) > 1:
            query = page.choose(st.selectbox, "Of", "why_query", options, width=200)
        head = find_heaviest_head(trace, focus, query)
        least = find_smallest_area_size(attention, focus)
        areas = list_candidates(trace, focus, head, query, least)
        if not areas:
            st.caption("It attends to nothing in this layer.")
            return None
        area = page.choose(st.selectbox, "Area", "why_area", areas, width=300)
        others = list_candidates(trace, focus, head, query)
        others.pop(area, None)
        beside = None
        if others:
            beside = page.choose(st.selectbox, "Compare with", "why_beside", others, width=300)
    if focus.head is None and attention.heads > 1:
        st.caption(
            f"Each head has its own queries and keys. This is head {head + 1}, which puts most"
            " weight on one area here. Choose another head above."
        )
    return Question(head, query, area, beside)


def _get_logit_terms(trace: Trace, focus: Focus) -> Logits:
    """Return the logit terms recorded in the trace, or computed by the model."""
    known = find_known_logits(trace, focus.site, focus.layer)
    if known is not None:
        return known
    with draw_progress("Waiting for the model") as report:
        return get_backend().logits(
            trace.request, focus.site, focus.layer, report, Caller(get_visitor())
        )

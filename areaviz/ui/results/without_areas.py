"""The tab “Without areas”: the same input with the model that differs only in its attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.show.message import choose_first_item
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import AnyPage
from areaviz.ui.app.progress import run_requests
from areaviz.ui.app.state import COMPARE, WITHOUT, Cards
from areaviz.ui.results.chart import draw_warnings
from areaviz.ui.results.display import find_display
from areaviz.ui.results.shared_focus import fit_to_other_trace
from areaviz.ui.results.tabs import ResultTab

TAB_TITLE = "Without areas"
_AREAS, _ITEMS = "area", "regular"


def build_without_tab(
    page: AnyPage, backend: Backend, cards: Cards, request: Request
) -> list[ResultTab]:
    """Return the tab of the model without areas, if the request's model has such a partner."""
    other = find_partner_without_areas(cards[request.model], cards)
    if other is None:
        return []
    asked = replace(request, model=other.name, area_size=None, attribution=False, changes=())

    def draw(trace: Trace, focus: Focus) -> None:
        with show_errors("running the model without areas"):
            (found,) = run_requests(backend, (asked.checked(),), "Running the model without areas…")
            _draw_partner(
                page, other, found, fit_to_other_trace(trace, found, _select_lit_word(trace, focus))
            )

    return [ResultTab(WITHOUT, TAB_TITLE, draw, lambda trace, focus: focus.site in trace.maps)]


def _select_lit_word(trace: Trace, focus: Focus) -> Focus:
    """Return the selection, with the word that is lit while nothing is selected."""
    attention = trace.maps[focus.site]
    first = choose_first_item(attention, focus.layer, trace.fields[attention.query])
    return focus if focus.items else replace(focus, side="query", items=first)


def find_partner_without_areas(card: Card, cards: Cards) -> Card | None:
    """Return the model that differs from a model with areas only in attending to single items."""
    if card.mechanism != _AREAS:
        return None
    same = (one for one in cards.values() if one.pair == card.pair and one.task == card.task)
    return next((one for one in same if one.mechanism == _ITEMS), None)


def _draw_partner(page: AnyPage, card: Card, trace: Trace, focus: Focus) -> None:
    """Draw the partner's picture, and the button that shows both models next to each other."""
    st.markdown(
        f"The same input with **{escape_markdown(card.title)}**. It was trained like the model"
        f" above, but its heads attend to one {card.level or 'cell'} at a time."
    )
    draw_warnings(trace)
    draw, _ = find_display(trace, focus)
    draw(trace, focus, key="without_areas")

    def compare() -> None:
        state: Any = page
        state.set(compare=card.name, tabs=[COMPARE])

    if st.button("Show both side by side", key=page.key("beside"), on_click=compare):
        # The tab is part of a fragment, but two models need the whole page.
        st.rerun()

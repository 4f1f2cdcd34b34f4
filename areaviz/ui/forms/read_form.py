"""The form of Read: the text, the model, and whether the model continues the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import WRITES_PARAM, Cards, Link
from areaviz.ui.forms.input_row import draw_input_row, draw_sample_row
from areaviz.ui.forms.options import (
    ModelState,
    add_options,
    choose_model_and_options,
    get_compared_model,
)
from areaviz.ui.forms.samples import SAMPLES
from areaviz.ui.what_if.state import WhatIfState

MODE_LABELS: Mapping[bool, str] = {False: "Read the text", True: "Go on with it"}


@dataclass(frozen=True)
class ReadState(ModelState, WhatIfState):
    """The state of the page Read."""

    text: str = SAMPLES[0]
    # Whether the model continues the text, if it can.
    writes: bool = False

    def from_link(self, link: Link) -> Self:
        """Return this state with the text of a link."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, writes=WRITES_PARAM in link.params)

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters, and whether the model continues the text."""
        params = super().to_link(request, focus, view)
        return {**params, WRITES_PARAM: "1"} if self.writes else params


def draw_read_form(page: Page[ReadState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    with draw_input_row(page):
        page.draw_widget(
            st.text_area,
            "Text",
            "text",
            height=68,
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        card = choose_model_and_options(page, cards, decodes=page.state.writes)
    with st.container(
        key=page.key("below"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        draw_sample_row(page, SAMPLES, page.state.text, lambda text: page.set_and_unlock(text=text))
        if any(map(_can_write, cards.values())):
            page.choose_segment("Mode", "writes", MODE_LABELS, label_visibility="collapsed")
    other = get_compared_model(page, card, cards)
    if not page.state.writes:
        both = [card] if other is None else [card, other]
        return tuple(Request(one.name, page.state.text, target=one.given) for one in both)
    st.caption("It writes up to 24 more tokens, and is then shown over all of them.")
    return add_options(page, Request(card.name, page.state.text), other)


def _can_write(card: Card) -> bool:
    return "target" in card.can

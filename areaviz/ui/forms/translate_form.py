"""The input of Translate: text, model and options. Every change runs the model at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import streamlit as st

from areaviz.trace.request import Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards, Link
from areaviz.ui.forms.input_row import draw_input_row, draw_sample_row
from areaviz.ui.forms.options import ModelState, build_compared_requests, choose_model_and_options
from areaviz.ui.forms.samples import SAMPLES
from areaviz.ui.what_if.state import WhatIfState


@dataclass(frozen=True)
class TranslateState(ModelState, WhatIfState):
    """The state of the page Translate."""

    text: str = SAMPLES[0]
    # Whether to run the model; false if a link cannot be followed.
    is_asked: bool = True

    def from_link(self, link: Link) -> Self:
        """Return this state with the text of a link. It runs at once if the link is valid."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, is_asked=not link.problem)


def draw_translate_form(page: Page[TranslateState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    take_text = partial(page.set_and_unlock, is_asked=True)
    sources = {card.recipe.get("source", "en") for card in cards.values()}
    label = "English text" if sources == {"en"} else "Text"
    with draw_input_row(page):
        page.draw_widget(
            st.text_input, label, "text", label_visibility="collapsed", after_change=take_text
        )
        card = choose_model_and_options(page, cards)
        ask = {"is_asked": True}
        st.button("Translate", type="primary", on_click=page.set, kwargs=ask)
    draw_sample_row(page, SAMPLES, page.state.text, lambda text: take_text(text=text))
    asked = build_compared_requests(page, card, cards, Request(card.name, page.state.text))
    return asked if page.state.is_asked else ()

"""The form of Translate: text, model and decoding. Every change runs the model at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import streamlit as st

from areaviz.trace.request import Request
from areaviz.ui.forms.options import ModelState, pickers, with_options
from areaviz.ui.forms.samples import SAMPLES
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards, Link
from areaviz.ui.what_if.state import WhatIfState


@dataclass(frozen=True)
class TranslateState(ModelState, WhatIfState):
    """The state of the page Translate."""

    text: str = SAMPLES[0]
    # The chosen sample sentence, until it is copied into the text.
    sample: str | None = None
    # Whether to run the model; false if a link cannot be followed.
    is_asked: bool = True

    def from_link(self, link: Link) -> Self:
        """Return this state with the text of a link; it runs at once if the link is valid."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, sample=None, is_asked=not link.problem)


def translate_form(page: Page[TranslateState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form; return the requests, two when comparing."""
    take_text = partial(_take_text, page)
    sources = {card.recipe.get("source", "en") for card in cards.values()}
    label = "English text" if sources == {"en"} else "Text"
    page.widget(st.text_area, label, "text", height=90, then=take_text)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        page.widget(
            st.selectbox,
            "Samples",
            "sample",
            SAMPLES,
            index=None,
            placeholder="Or choose one of these sentences",
            then=partial(_take_sample, page),
        )
        asked = {"is_asked": True, "is_form_open": False}
        st.button("Translate", type="primary", on_click=page.set, kwargs=asked)
    card, other = pickers(page, cards)
    state = page.state
    return with_options(page, Request(card.name, state.text), other) if state.is_asked else ()


def _take_text(page: Page[TranslateState]) -> None:
    page.unlock(is_asked=True)


def _take_sample(page: Page[TranslateState]) -> None:
    if page.state.sample:
        page.set(text=page.state.sample, sample=None)
        _take_text(page)

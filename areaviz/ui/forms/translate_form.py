"""What Translate asks: the text, the model and how it decodes. Every change is asked at once."""

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
    """What Translate holds."""

    text: str = SAMPLES[0]
    # The sentence that was chosen, until it has become the text.
    sample: str | None = None
    # Whether to run the model; not where a link cannot be followed.
    is_asked: bool = True

    def from_link(self, link: Link) -> Self:
        """With the text of a link, asked at once where the link can be followed."""
        text = link.params.get("text", self.text)
        return replace(super().from_link(link), text=text, sample=None, is_asked=not link.problem)


def translate_form(page: Page[TranslateState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form; returns what to run, two requests when comparing."""
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

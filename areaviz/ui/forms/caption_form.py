"""The form of Caption: picture, model, question if the model takes one, and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.request import Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards, Link
from areaviz.ui.forms.input_row import draw_input_row
from areaviz.ui.forms.model_choice import PictureModelState, choose_fitting_picture
from areaviz.ui.forms.options import add_options, choose_model_and_options, get_compared_model
from areaviz.ui.what_if.state import WhatIfState

CELLS_LABEL = "{size} rows and {size} columns of cells"
MAX_AREA_SIDE = 4


@dataclass(frozen=True)
class CaptionState(PictureModelState, WhatIfState):
    """The state of the page Caption."""

    # The question for a vision-language model, "" for a description.
    question: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with the question of a link."""
        question = link.params.get("text", self.question)
        return replace(super().from_link(link), question=question)


def draw_caption_form(page: Page[CaptionState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, () while there is no picture."""
    row = draw_input_row(page)
    with row:
        source = st.container(horizontal=True, vertical_alignment="center", gap="small")
    picture = choose_fitting_picture(page, cards, source, source)
    with row:
        card = choose_model_and_options(page, cards, largest=MAX_AREA_SIDE, extent=CELLS_LABEL)
    other = get_compared_model(page, card, cards)
    models = [one for one in (card, other) if one is not None]
    _draw_question_field(page, models)
    if picture is None:
        return ()
    asked = add_options(page, Request(card.name, "", picture=picture), other)
    # A model that takes no question gets none, so that equal requests stay equal.
    texts = [page.state.question.strip() if one.question else "" for one in models]
    return tuple(replace(one, text=text) for one, text in zip(asked, texts, strict=True))


def _draw_question_field(page: Page[CaptionState], models: Sequence[Card]) -> None:
    """Draw the field for a question if one of the models takes a question."""
    usual = next((one.question for one in models if one.question), "")
    if usual:
        page.draw_widget(
            st.text_input,
            "Question",
            "question",
            placeholder=usual,
            max_chars=300,
            after_change=page.set_and_unlock,
            help="Ask a question about the picture. If the model does not answer questions, this is"
            " how its text begins. Leave it empty for a description of the picture.",
        )

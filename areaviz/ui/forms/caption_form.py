"""What Caption asks: the picture, the model and how it decodes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import PictureModelState, fitting_picture, mismatch
from areaviz.ui.forms.options import pickers, with_options
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import WhatIfState

CELLS = "{size} rows and {size} columns of cells"
LARGEST_AREA = 4
LEAST_ADVANTAGE = 0.05
"""How much more often a head has to point right than fixed places do, not to be warned of."""


@dataclass(frozen=True)
class CaptionState(PictureModelState, WhatIfState):
    """What Caption holds."""


def caption_form(page: Page[CaptionState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form; returns what to run, nothing while there is no picture."""
    first_line = st.empty()
    with st.container(border=True):
        picture = fitting_picture(page, cards)
        card, other = pickers(page, cards, LARGEST_AREA, CELLS)
        if warning := mismatch(card, picture):
            st.caption(warning)
    if doubt := attention_doubt(card):
        first_line.warning(doubt)
    if picture is None:
        return ()
    return with_options(page, Request(card.name, "", picture=picture), other)


def attention_doubt(card: Card) -> str:
    """A warning where attention points no better than fixed places do; else ""."""
    measured = card.attention.get("encoder-decoder, test", {})
    if not {"pointing", "pointing_position", "words"} <= measured.keys():
        return ""
    own, fixed = measured["pointing"], measured["pointing_position"]
    if own - fixed >= LEAST_ADVANTAGE:
        return ""
    return (
        f"The maps of this model do not show where it found a word. Over {int(measured['words']):,}"
        f" words of held-out {card.pictures or 'pictures'}, its best head points at what the word"
        f" names for {own:.0%} of them; the same places, whatever the picture, do so for"
        f" {fixed:.0%}."
    )

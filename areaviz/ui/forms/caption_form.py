"""What Caption asks: the picture, the model and how it decodes."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.link import picture_name
from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import first_sample, kind_of, mismatch, settle, suit
from areaviz.ui.forms.options import Asking
from areaviz.ui.forms.picture_input import picture_input, recall_picture

ASKING = Asking("caption", "{size} rows and {size} columns of cells")
KINDS = ("scene", "photo")
LARGEST_AREA = 4
LEAST_ADVANTAGE = 0.05
"""How much more often a head has to point right than fixed places do, for its maps to be shown
without a warning.
"""


def caption_form(cards: Mapping[str, Card]) -> tuple[Request, ...]:
    """Draw the form; returns what to run, nothing while there is no picture."""
    model, first_line = ASKING.key("model"), st.empty()
    with st.container(border=True):
        picture = picture_input(ASKING.page, KINDS, first_sample(model, cards))
        suit(model, cards, picture)
        card, other = ASKING.pickers(cards, LARGEST_AREA)
        if warning := mismatch(card, picture):
            st.caption(warning)
    if doubt := attention_doubt(card):
        first_line.warning(doubt)
    return (
        () if picture is None else ASKING.requests(Request(card.name, "", picture=picture), other)
    )


def attention_doubt(card: Card) -> str:
    """What the reader must know before any map where attention points no better than fixed places
    do; else "".
    """
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


def recall_caption(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
    """Fill the form with a link's request; InputError where the link's picture cannot be had."""
    ASKING.recall(request, compare)
    name = picture_name(params)
    if name is not None and asked:
        settle(ASKING.key("model"), kind_of(name) if "model" in params else "")
        recall_picture(ASKING.page, name)

"""What Caption asks: the picture, the model and how it decodes."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.trace.card import Card
from areaviz.trace.link import picture_name
from areaviz.trace.request import Request
from areaviz.ui.asking import Asking
from areaviz.ui.picture_input import picture_input, recall_picture
from areaviz.ui.suited import first_sample, kind_of, mismatch, settle, suit

ASKING = Asking("caption", "{size} rows and {size} columns of cells")
KINDS = ("scene", "photo")
LARGEST_AREA = 4


def caption_form(cards: Mapping[str, Card]) -> tuple[Request, ...]:
    """Draw the form; returns what to run, nothing while there is no picture."""
    model = ASKING.key("model")
    with st.container(border=True):
        picture = picture_input(ASKING.page, KINDS, first_sample(model, cards))
        suit(model, cards, picture)
        card, other = ASKING.pickers(cards, LARGEST_AREA)
        if warning := mismatch(card, picture):
            st.caption(warning)
    return () if picture is None else ASKING.requests(Request(card.name, "", picture=picture), other)


def recall_caption(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
    """Fill the form with a link's request; InputError where the link's picture cannot be had."""
    ASKING.recall(request, compare)
    name = picture_name(params)
    if name is not None and asked:
        settle(ASKING.key("model"), kind_of(name) if "model" in params else "")
        recall_picture(ASKING.page, name)

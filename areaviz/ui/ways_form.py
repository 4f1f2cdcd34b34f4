"""What Four ways to look asks: the picture, and whether choices are drawn by chance."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.trace.card import Card
from areaviz.trace.link import picture_name
from areaviz.trace.request import Request
from areaviz.ui.picture_input import picture_input, recall_picture

KIND = "cluttered"
PAGE, DEFAULT = "ways", "digit-3"
SAMPLE, SEED = f"{PAGE}_sample", f"{PAGE}_seed"


def ways_form(cards: Mapping[str, Card]) -> tuple[Request, ...]:
    """Draw the form; returns one request for each model, nothing while there is no picture."""
    with st.container(border=True):
        picture = picture_input(PAGE, ("digit",), DEFAULT)
        with st.container(horizontal=True, vertical_alignment="center"):
            sample = st.toggle(
                "Draw hard choices by chance",
                key=SAMPLE,
                persist_state="session",
                help="Off: the most probable choice is taken. On: one is drawn, as while the models learned.",
            )
            st.button("Look again", on_click=_again, disabled=not sample)
    seed = st.session_state.setdefault(SEED, 0) if sample else 0
    if picture is None:
        return ()
    return tuple(Request(card.name, "", picture=picture, sample=sample, seed=seed) for card in cards.values())


def recall_ways(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
    """Fill the form with a link's request; InputError where the link's picture cannot be had."""
    st.session_state[SAMPLE], st.session_state[SEED] = request.sample, request.seed
    name = picture_name(params)
    if name is not None and asked:
        recall_picture(PAGE, name)


def _again() -> None:
    st.session_state[SEED] = st.session_state.get(SEED, 0) + 1

"""What Four ways to look asks: the picture, and whether choices are drawn by chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from areaviz.cards.card import Card
from areaviz.data.picture_samples import names
from areaviz.trace.link import picture_name
from areaviz.trace.request import Request
from areaviz.ui.forms.picture_input import picture_input, recall_picture
from areaviz.ui.look.look_closer import recall_looks

PAGE = "ways"
SAMPLE, SEED, PICTURES = f"{PAGE}_sample", f"{PAGE}_seed", f"{PAGE}_pictures"


@dataclass(frozen=True, slots=True)
class Pictures:
    """What models read. kind: of their pictures, a key of `digit_scenes.KINDS`. samples: the kind
    of the app's own pictures, of which `first` is shown at once.
    """

    kind: str
    title: str
    samples: str
    first: str


ALL = (
    Pictures("cluttered", "A digit among clutter", "digit", "digit-3"),
    Pictures("centred", "A digit alone", "single digit", "single-3"),
    Pictures("pairs", "A pair of digits", "pair", "pair-27"),
)


def choose_pictures(cards: Mapping[str, Card]) -> Pictures:
    """Let the reader choose what is read, of what there are models for."""
    kinds = {str(card.config.get("kind")) for card in cards.values() if card.task == "digits"}
    offered = {one.title: one for one in ALL if one.kind in kinds} or {ALL[0].title: ALL[0]}
    if st.session_state.get(PICTURES) not in offered:
        st.session_state[PICTURES] = next(iter(offered))
    if len(offered) == 1:
        return next(iter(offered.values()))
    title = st.segmented_control(
        "What is read", list(offered), key=PICTURES, required=True, persist_state="session"
    )
    return offered[title or next(iter(offered))]


def ways_form(cards: Mapping[str, Card], pictures: Pictures) -> tuple[Request, ...]:
    """Draw the form; returns one request for each model, nothing while there is no picture."""
    with st.container(border=True):
        picture = picture_input(PAGE, (pictures.samples,), pictures.first)
        with st.container(horizontal=True, vertical_alignment="center"):
            sample = st.toggle(
                "Draw hard choices by chance",
                key=SAMPLE,
                persist_state="session",
                help=(
                    "Off: the most probable choice is taken. On: one is drawn, as while the models"
                    " learned."
                ),
            )
            st.button("Look again", on_click=_again, disabled=not sample)
    seed = st.session_state.setdefault(SEED, 0) if sample else 0
    if picture is None:
        return ()
    return tuple(
        Request(card.name, "", picture=picture, sample=sample, seed=seed) for card in cards.values()
    )


def recall_ways(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
    """Fill the form with a link's request; InputError where the link's picture cannot be had."""
    st.session_state[SAMPLE], st.session_state[SEED] = request.sample, request.seed
    recall_looks(params)
    name = picture_name(params)
    if name is not None and asked:
        recall_picture(PAGE, name)


def recall_pictures(params: Mapping[str, str]) -> None:
    """Choose the kind of pictures that a link's picture is of, before the models are; uploads leave
    it as it is.
    """
    name = params.get("picture", "")
    found = next((one for one in ALL if name in names(one.samples)), None)
    if found:
        st.session_state[PICTURES] = found.title


def _again() -> None:
    st.session_state[SEED] = st.session_state.get(SEED, 0) + 1

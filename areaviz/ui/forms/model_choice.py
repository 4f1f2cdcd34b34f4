"""Pictures and models of the same kind: a new picture brings along a model that has learned from
such pictures.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.cards.card import Card
from areaviz.data.picture_samples import SAMPLES
from areaviz.trace.picture import Picture

WORDS = {"scenes": "shape scenes", "photos": "photographs"}
"""`Card.pictures` in words."""
FIRST = {"scenes": "scene-34", "photos": "astronaut"}
"""The sample to begin with for a model of each kind."""


def kind_of(name: str) -> str:
    """What a picture of this name shows, as `Card.pictures` has it; whatever is uploaded counts as
    a photograph.
    """
    entry = SAMPLES.get(name)
    return "scenes" if entry and entry.kind == "scene" else "photos"


def first_sample(key: str, cards: Mapping[str, Card]) -> str:
    """The sample to begin with: of the kind that the chosen model knows, `key` being that of its
    widget.
    """
    card = cards.get(st.session_state.get(key, ""))
    return FIRST.get(card.pictures if card else "", FIRST["scenes"])


def suit(key: str, cards: Mapping[str, Card], picture: Picture | None) -> None:
    """Choose a model of the kind of a new picture, in the widget of this key; what the reader
    chooses later stays.
    """
    kind = kind_of(picture.name) if picture else ""
    card = cards.get(st.session_state.get(key, ""))
    if not kind or st.session_state.get(f"{key}_kind") == kind:
        return
    settle(key, kind)
    fitting = [one for one in cards.values() if one.pictures == kind]
    best = next((one for one in fitting if one.mechanism == "area"), next(iter(fitting), None))
    if best and not (card and card.pictures == kind):
        st.session_state[key] = best.name


def settle(key: str, kind: str) -> None:
    """Take the model as it is together with pictures of a kind, as a link does; "": the next
    picture chooses anew.
    """
    st.session_state[f"{key}_kind"] = kind


def mismatch(card: Card, picture: Picture | None) -> str:
    """A sentence where a model is asked about a picture of a kind it has never seen; "" else."""
    if picture is None or card.pictures in ("", kind_of(picture.name)):
        return ""
    return (
        f"This model has seen {WORDS[card.pictures]} alone: what it says of other pictures is a"
        " guess."
    )

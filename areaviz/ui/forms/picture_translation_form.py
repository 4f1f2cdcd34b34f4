"""What Translate with a picture asks: the picture, the sentence and its hidden words, and what is
looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from areaviz.cards.card import Card
from areaviz.data.picture_samples import SAMPLES, names, sample, sentence
from areaviz.data.scene_grammar import MASK
from areaviz.trace.link import picture_name
from areaviz.trace.picture import Picture
from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import first_sample, kind_of, mismatch, settle, suit
from areaviz.ui.forms.options import Asking
from areaviz.ui.forms.picture_input import picture_input, recall_picture
from areaviz.ui.look.focus_state import unselect
from areaviz.ui.look.side_by_side import SIGHTS, Asked, recall_looked
from areaviz.ui.shell.markdown import escaped

ASKING = Asking("look", "{size} items of the sentence, {size} rows and {size} columns of cells")
KINDS = ("scene", "photo")
TEXT, HIDDEN, SEEN, OTHER = (ASKING.key(name) for name in ("text", "hidden", "seen", "other"))
_FOLLOWED = ASKING.key("followed")
MOST_WORDS = 40
USUAL = ("with", "without", "other")
CONTRARY = ("scene-20", "scene-34")
"""Samples whose two ambiguous nouns mean something else than in each other."""


def picture_translation_form(cards: Mapping[str, Card]) -> Asked | None:
    """Draw the form; returns what to run side by side, None while there is no picture."""
    model = ASKING.key("model")
    with st.container(border=True):
        picture = picture_input(ASKING.page, KINDS, first_sample(model, cards))
        suit(model, cards, picture)
        _follow(picture)
        st.text_area(
            "English sentence",
            key=TEXT,
            height=70,
            on_change=_new_text,
            persist_state="session",
            help="Leave it empty to have the picture described in German.",
        )
        text = _hidden(st.session_state[TEXT])
        seen, other = _sights(picture)
        card = ASKING.one(cards)
        if warning := mismatch(card, picture):
            st.caption(warning)
    if picture is None:
        return None
    asked = ASKING.requests(Request(card.name, text, picture=picture), None)[0]
    pictures = {"with": picture, "without": None, "other": other, "grey": _grey(picture)}
    shown = (
        seen
        if text.strip()
        else [sight for sight in seen if pictures[sight] is not None] or ["with"]
    )
    requests = {sight: replace(asked, picture=pictures[sight]) for sight in shown}
    return Asked(requests, replace(asked, text=st.session_state[TEXT]), _further(seen, other.name))


def _further(seen: Sequence[str], other: str) -> dict[str, str]:
    """What a link says besides the request; defaults are left out."""
    params = {} if tuple(seen) == USUAL else {"sees": ",".join(seen)}
    hidden = st.session_state.get(HIDDEN, [])
    params |= {"hidden": ",".join(str(place + 1) for place in sorted(hidden))} if hidden else {}
    return params | ({"other": other} if "other" in seen else {})


def recall_picture_translation(
    request: Request, params: Mapping[str, str], compare: str, asked: bool
) -> None:
    """Fill the form with a link's request; InputError where the link's picture cannot be had."""
    ASKING.recall(request, compare)
    if "text" in params:
        st.session_state[TEXT], st.session_state[HIDDEN] = (
            params["text"],
            _places(params.get("hidden", "")),
        )
    sees = [sight for sight in SIGHTS if sight in params.get("sees", "").split(",")]
    st.session_state[SEEN], st.session_state[OTHER] = sees or list(USUAL), params.get("other", "")
    recall_looked(params)
    name = picture_name(params)
    if name is not None and asked:
        settle(ASKING.key("model"), kind_of(name) if "model" in params else "")
        st.session_state[_FOLLOWED] = name
        recall_picture(ASKING.page, name)


def _places(packed: str) -> list[int]:
    """The places of "3,5", from 0; what is no number is passed over, and `_hidden` what is no
    place.
    """
    return [int(part) - 1 for part in packed.split(",") if part.isascii() and part.isdecimal()]


def _follow(picture: Picture | None) -> None:
    """A new sample brings its sentence along, unless the reader wrote one of their own."""
    name = picture.name if picture else ""
    before = st.session_state.get(_FOLLOWED)
    if name == before:
        return
    own = st.session_state.get(TEXT, "") not in ("", sentence(before or ""))
    st.session_state[_FOLLOWED] = name
    if not own and sentence(name):
        st.session_state[TEXT] = sentence(name)
        _new_text()
    st.session_state.setdefault(TEXT, "")


def _new_text() -> None:
    st.session_state[HIDDEN] = []
    unselect()


def _hidden(text: str) -> str:
    """Let words be hidden; returns the text with a mark in place of each."""
    words = text.split()
    if not words:
        return text
    if len(words) > MOST_WORDS:
        st.caption(f"Words can be hidden in sentences of up to {MOST_WORDS} words.")
        return text
    places = range(len(words))
    st.session_state[HIDDEN] = [
        place for place in st.session_state.get(HIDDEN, []) if place in places
    ]
    hidden = st.pills(
        f"Hide words: the model reads “{MASK}” and has only the picture to tell",
        places,
        selection_mode="multi",
        key=HIDDEN,
        format_func=lambda place: escaped(words[place]),
        on_change=unselect,
        persist_state="session",
    )
    if not hidden:
        return text
    return " ".join(MASK if place in hidden else word for place, word in enumerate(words))


def _sights(picture: Picture | None) -> tuple[Sequence[str], Picture]:
    """What is looked at, side by side, and which picture the other one is."""
    kind = "photo" if picture and kind_of(picture.name) == "photos" else "scene"
    offered = [name for name in names(kind) if picture is None or name != picture.name]
    if st.session_state.get(OTHER) not in offered:
        st.session_state[OTHER] = next((name for name in CONTRARY if name in offered), offered[0])
    st.session_state.setdefault(SEEN, list(USUAL))
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        seen = st.pills(
            "Side by side",
            list(SIGHTS),
            selection_mode="multi",
            key=SEEN,
            format_func=lambda sight: SIGHTS[sight],
            persist_state="session",
        )
        if "other" in (seen or ()):
            st.selectbox(
                "The other picture",
                offered,
                key=OTHER,
                format_func=lambda name: SAMPLES[name].title,
                width=340,
                persist_state="session",
            )
    return [sight for sight in SIGHTS if sight in (seen or ["with"])], sample(
        st.session_state[OTHER]
    )


def _grey(picture: Picture | None) -> Picture:
    """A picture of the same size that shows nothing."""
    height, width = (picture.height, picture.width) if picture else (8, 8)
    return Picture.of("grey", np.full((height, width, 3), 128, np.uint8))

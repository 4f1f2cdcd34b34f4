"""What is asked: the text, the model and how it decodes. Every change is asked at once, so no result is out of date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from areaviz.trace.card import Card
from areaviz.trace.limits import METHODS
from areaviz.trace.request import Request
from areaviz.ui.focus_state import unselect
from areaviz.ui.plain import escaped
from areaviz.ui.samples import SAMPLES

TEXT, MODEL, METHOD, BEAM, AREA_SIZE = "ask_text", "ask_model", "ask_method", "ask_beam", "ask_area_size"
COMPARE, _SAMPLE, _ASKED = "ask_compare", "ask_sample", "ask_asked"
AS_TRAINED = 0
LARGEST_AREA, WIDEST_BEAM = 5, 16


def request_form(cards: Mapping[str, Card]) -> tuple[Request, ...]:
    """Draw the form; returns what to run: nothing before the first question, two requests when comparing."""
    st.session_state.setdefault(TEXT, SAMPLES[0])
    with st.container(border=True):
        st.text_area("English text", key=TEXT, height=90, on_change=_take_text, persist_state="session")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _sample_picker()
            st.button("Translate", type="primary", on_click=_ask)
        with st.container(horizontal=True, gap="medium"):
            card = _model_picker(cards)
            _decoding_picker()
            _area_picker(card)
        st.caption(_about_areas(st.session_state[AREA_SIZE]))
        other = counterpart(card, cards)
        compare = other is not None and _compare_switch(other)
    if not st.session_state.get(_ASKED):
        return ()
    request = _request(card)
    return (request, replace(request, model=other.name, area_size=None)) if compare and other else (request,)


def recall_request(request: Request, compare: bool, asked: bool) -> None:
    """Fill the form with a request, for instance a link's; `asked` runs it at once."""
    state = st.session_state
    state[TEXT], state[MODEL], state[METHOD], state[BEAM] = request.text, request.model, request.method, request.beam
    state[AREA_SIZE] = request.area_size or AS_TRAINED
    state[COMPARE], state[_ASKED], state[_SAMPLE] = compare, asked, None


def default_model(cards: Mapping[str, Card]) -> str:
    """The model to begin with: the first that attends to areas."""
    return next((card.name for card in cards.values() if card.mechanism == "area"), next(iter(cards), ""))


def counterpart(card: Card, cards: Mapping[str, Card]) -> Card | None:
    """The model of the same task, level and size with another kind of attention."""

    def kind(one: Card) -> tuple[str, str, str]:
        return one.task, one.level, one.size

    return next((c for c in cards.values() if kind(c) == kind(card) and c.mechanism != card.mechanism), None)


def _request(card: Card) -> Request:
    state = st.session_state
    greedy = Request(card.name, state[TEXT], area_size=state[AREA_SIZE] or None)
    return greedy if state[METHOD] == "greedy" else replace(greedy, method=state[METHOD], beam=state[BEAM])


def _ask() -> None:
    st.session_state[_ASKED] = True


def _take_text() -> None:
    unselect()
    _ask()


def _take_sample() -> None:
    if st.session_state[_SAMPLE]:
        st.session_state[TEXT], st.session_state[_SAMPLE] = st.session_state[_SAMPLE], None
        _take_text()


def _sample_picker() -> None:
    hint = "Or choose one of these sentences"
    st.selectbox("Samples", SAMPLES, index=None, key=_SAMPLE, placeholder=hint, on_change=_take_sample)


def _model_picker(cards: Mapping[str, Card]) -> Card:
    if st.session_state.get(MODEL) not in cards:
        st.session_state[MODEL] = default_model(cards)
    name = st.selectbox(
        "Model", list(cards), key=MODEL, format_func=lambda name: cards[name].title, width=320, persist_state="session"
    )
    return cards[name]


def _decoding_picker() -> None:
    st.session_state.setdefault(METHOD, METHODS[0])
    st.session_state.setdefault(BEAM, 4)
    st.segmented_control(
        "Decoding",
        METHODS,
        key=METHOD,
        format_func=str.capitalize,
        required=True,
        persist_state="session",
        help="Greedy takes the most probable item at every step; beam search follows several candidates at once.",
    )
    if st.session_state[METHOD] != "greedy":
        st.number_input("Beam width", 1, WIDEST_BEAM, key=BEAM, width=120, persist_state="session")


def _area_picker(card: Card) -> None:
    chosen = st.session_state.setdefault(AREA_SIZE, AS_TRAINED)
    st.select_slider(
        "Largest area",
        range(AS_TRAINED, max(LARGEST_AREA, chosen) + 1),
        key=AREA_SIZE,
        format_func=lambda size: "As trained" if size == AS_TRAINED else str(size),
        width=260,
        persist_state="session",
    )


def _about_areas(size: int) -> str:
    """What the chosen size means."""
    if size == 1:
        return "With areas of one item this is regular attention, by the same weights."
    reach = "" if size == AS_TRAINED else f"Areas hold up to {size} neighbouring items. "
    return (
        f"{reach}Areas add no parameters, so the same model runs with any largest area; with 1 it is regular attention."
    )


def _compare_switch(other: Card) -> bool:
    return st.toggle(f"Compare with: {escaped(other.title)}", key=COMPARE, persist_state="session")

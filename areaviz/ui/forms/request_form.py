"""What Translate asks: the text, the model and how it decodes. Every change is asked at once."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.request import Request
from areaviz.ui.forms.options import Asking
from areaviz.ui.forms.samples import SAMPLES
from areaviz.ui.look.focus_state import unselect

ASKING = Asking("ask")
TEXT, _SAMPLE, _ASKED = ASKING.key("text"), ASKING.key("sample"), ASKING.key("asked")


def request_form(cards: Mapping[str, Card]) -> tuple[Request, ...]:
    """Draw the form; returns what to run: nothing before the first question, two requests when
    comparing.
    """
    st.session_state.setdefault(TEXT, SAMPLES[0])
    with st.container(border=True):
        st.text_area(
            "English text", key=TEXT, height=90, on_change=_take_text, persist_state="session"
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _sample_picker()
            st.button("Translate", type="primary", on_click=_ask)
        card, other = ASKING.pickers(cards)
    if not st.session_state.get(_ASKED):
        return ()
    return ASKING.requests(Request(card.name, st.session_state[TEXT]), other)


def recall_request(request: Request, params: Mapping[str, str], compare: str, asked: bool) -> None:
    """Fill the form with a request, for instance a link's; `asked` runs it at once. `params` are
    the link's.
    """
    ASKING.recall(request, compare)
    st.session_state[TEXT] = params.get("text", "")
    st.session_state[_ASKED], st.session_state[_SAMPLE] = asked, None


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
    st.selectbox(
        "Samples", SAMPLES, index=None, key=_SAMPLE, placeholder=hint, on_change=_take_sample
    )

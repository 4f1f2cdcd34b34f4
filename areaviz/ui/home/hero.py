"""The hero of Home: a stored translation in a ribbon that opens with a word lit."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.samples.paths import HERO
from areaviz.show.message import OPENS_AT
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.frame import FIRST_TOUR_STEP, draw_page_link
from areaviz.ui.app.language import sentence
from areaviz.ui.components.ribbon import draw_ribbon
from areaviz.ui.forms.samples import EXAMPLES

WHAT_IT_DOES = message(
    "A translator writes German word by word and looks back at the English before each word. It may"
    " take neighbours as one: an **area**."
)


def draw_hero() -> None:
    """Draw the two sentences, the link to a sentence of the user's own, and the lit ribbon."""
    with st.container(key="hero", horizontal=True, vertical_alignment="bottom"):
        st.markdown(sentence(WHAT_IT_DOES))
        draw_page_link("pages/home.py", sentence("Take the 90-second tour"), FIRST_TOUR_STEP)
        draw_page_link("pages/translate.py", sentence("Try your own sentence"))
    with show_errors(message("showing the example")), st.container(border=True, key="hero_card"):
        trace = load_hero_trace()
        # Lock no item: the ribbon then opens at the word of the first example.
        draw_ribbon(trace, replace(EXAMPLES[0].focus, head=None, items=()), key="home")


def light_as_on_home(trace: Trace) -> Trace:
    """Return a trace that opens with the word that Home shows, if Home shows the same request."""
    return _find_lit_word(trace) if trace.request == load_hero_trace().request else trace


def load_hero_trace() -> Trace:
    """Return the stored trace that Home shows."""
    return _load_stored_trace(HERO.stat().st_mtime_ns)


@st.cache_resource(show_spinner=False, max_entries=1)
def _load_stored_trace(modified: int) -> Trace:
    """Return the trace in the file as it was last written."""
    return _find_lit_word(file.load(HERO))


def _find_lit_word(trace: Trace) -> Trace:
    item = str(EXAMPLES[0].focus.items[0])
    return replace(trace, details={**trace.details, OPENS_AT: item})

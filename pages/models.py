"""The models of this app: an index, and the card of the model that the link names."""

import streamlit as st

from areaviz.cards.card import Card
from areaviz.ui.models.card_page import card_page
from areaviz.ui.models.index import MODEL, models_index
from areaviz.ui.models.summary import about
from areaviz.ui.shell.engine import engine, known_card
from areaviz.ui.shell.errors import problem, show_errors
from areaviz.ui.shell.frame import admitted, page_frame
from areaviz.ui.shell.markdown import escaped, shortened
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

PURPOSE = (
    "How the models of this app were trained, how well they do, and what they cannot do. Choose a"
    " row to see a model in short."
)


def page_of(card: Card | None) -> Page[State]:
    """Return the page of a model, or of the index."""
    if card is None:
        return Page("models", PURPOSE, State())
    return Page("models", escaped(about(card)), State(), heading=escaped(card.title))


name = st.query_params.get(MODEL, "")
chosen = known_card(name) if name and admitted() else None
page_frame(page_of(chosen))
with show_errors("reading the model cards"):
    backend = engine()
    cards = backend.models()
    if chosen is not None:
        with show_errors(f"showing the card of {chosen.name}"):
            card_page(chosen, cards)
    else:
        for sentence in backend.problems():
            problem(sentence)
        if name:
            problem(f"The model “{shortened(name, 40)}” is not here. Choose one of these.")
        models_index(cards)
        st.caption(f"Models run on: {backend.device()}")

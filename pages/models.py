"""The models of this app: what they measured, beside the papers, and how they were trained."""

import streamlit as st

from areaviz.ui.chrome import page_frame
from areaviz.ui.comparison import comparison
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.model_card import model_card

page_frame("Models", "The translators of this app, trained from scratch, with their measured figures and their limits.")
with calm("reading the model cards"):
    backend = engine()
    cards = list(backend.models().values())
    st.caption(f"Models run on: {backend.device()}")
    for sentence in backend.problems():
        problem(sentence)
    st.header("Beside the paper", anchor=False)
    comparison(cards)
    st.header("Cards", anchor=False)
    for card in cards:
        with calm(f"showing the card of {card.name}"):
            model_card(card)

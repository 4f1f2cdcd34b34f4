"""The card of one model, which the link names; the menu does not list this page."""

import streamlit as st

from areaviz.ui.app.engine import get_backend, known_card
from areaviz.ui.app.errors import show_error, show_errors
from areaviz.ui.app.frame import is_admitted, page_frame, page_link
from areaviz.ui.app.markdown import escape_markdown, shorten_line
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State
from areaviz.ui.models.card_page import card_page
from areaviz.ui.models.summary import MODEL, describe_model

name = st.query_params.get(MODEL, "")
# The frame has the model's title, and nothing is read for a session that was not admitted.
card = known_card(name) if name and is_admitted() else None
if card is None:
    page_frame(Page("model", "Every model has a card, which the page Models opens.", State()))
    if name:
        show_error(
            f"The model “{shorten_line(name, 40)}” is not here. Choose another one on Models."
        )
    page_link("pages/models.py", "All models")
else:
    page_frame(
        Page(
            "model",
            escape_markdown(describe_model(card)),
            State(),
            heading=escape_markdown(card.title),
        )
    )
    with show_errors(f"showing the card of {card.name}"):
        card_page(card, get_backend().models())

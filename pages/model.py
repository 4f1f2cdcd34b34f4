"""The card of the model that the link names. The menu does not list this page."""

import streamlit as st

from areaviz.ui.app.engine import find_card, get_backend
from areaviz.ui.app.errors import show_error, show_errors
from areaviz.ui.app.frame import draw_page_frame, draw_page_link, is_admitted
from areaviz.ui.app.markdown import escape_markdown, shorten_line
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State
from areaviz.ui.models.card_page import draw_card_page
from areaviz.ui.models.summary import MODEL_PARAM, describe_model

name = st.query_params.get(MODEL_PARAM, "")
# The frame has the model's title, and nothing is read for a session that was not admitted.
card = find_card(name) if name and is_admitted() else None
if card is None:
    draw_page_frame(Page("model", "Every model has a card, which the page Models opens.", State()))
    if name:
        show_error(
            f"The model “{shorten_line(name, 40)}” is not here. Choose another one on Models."
        )
    draw_page_link("pages/models.py", "All models")
else:
    draw_page_frame(
        Page(
            "model",
            escape_markdown(describe_model(card)),
            State(),
            heading=escape_markdown(card.title),
        )
    )
    with show_errors(f"showing the card of {card.name}"):
        draw_card_page(card, get_backend().models())

"""The card of the model that the link names. The menu does not list this page."""

import streamlit as st

from areaviz.app.frame import draw_page_frame, draw_page_link, is_admitted
from areaviz.app.models import MODEL_PARAM, describe_model, draw_card_page
from areaviz.app.page import Page, State
from areaviz.app.run import find_card, get_backend
from areaviz.app.texts import escape_markdown, shorten_line, show_error, show_errors

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

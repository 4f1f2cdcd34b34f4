"""The models of this app: an index with one row per model."""

import streamlit as st

from areaviz.app.frame import draw_page_frame
from areaviz.app.models import draw_models_index
from areaviz.app.page import Page, State
from areaviz.app.run import get_backend
from areaviz.app.texts import show_error, show_errors

draw_page_frame(
    Page(
        "models",
        "How the models of this app were trained, how well they do, and what they cannot do. Choose"
        " a row to see a model in short.",
        State(),
    )
)
with show_errors("reading the model cards"):
    backend = get_backend()
    for sentence in backend.problems():
        show_error(sentence)
    draw_models_index(backend.models())
    st.caption(f"Models run on: {backend.device()}")

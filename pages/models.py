"""The models of this app: an index with one row per model."""

import streamlit as st

from areaviz.ui.app.engine import get_backend
from areaviz.ui.app.errors import show_error, show_errors
from areaviz.ui.app.frame import draw_page_frame
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State
from areaviz.ui.models.index import draw_models_index

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

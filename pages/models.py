"""The models of this app: an index with one row per model."""

import streamlit as st

from areaviz.ui.models.index import models_index
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import problem, show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(
    Page(
        "models",
        "How the models of this app were trained, how well they do, and what they cannot do. Choose"
        " a row to see a model in short.",
        State(),
    )
)
with show_errors("reading the model cards"):
    backend = engine()
    for sentence in backend.problems():
        problem(sentence)
    models_index(backend.models())
    st.caption(f"Models run on: {backend.device()}")

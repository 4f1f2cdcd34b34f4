"""The models of this app: what they measured, beside the papers, and how they were trained."""

import streamlit as st

from areaviz.cards.tasks import TASKS
from areaviz.ui.models.comparison import beside, by_task, trained_forms
from areaviz.ui.models.model_card import choose_card, model_card
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import problem, show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(
    Page(
        "models",
        "The models of this app, trained from scratch, with their measured figures and their"
        " limits.",
        State(),
    )
)
with show_errors("reading the model cards"):
    backend = engine()
    cards = backend.models()
    st.caption(f"Models run on: {backend.device()}")
    for sentence in backend.problems():
        problem(sentence)
    for task, group in by_task(cards.values()).items():
        st.header(TASKS[task].title, anchor=False)
        beside(task, group)
        chosen = choose_card(task, group)
        with show_errors(f"showing the card of {chosen.name}"):
            model_card(chosen, cards)
    with show_errors("showing what different keys learn"):
        trained_forms()

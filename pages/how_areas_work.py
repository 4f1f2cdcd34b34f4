"""How areas work: thirteen questions, one a screen, each with an explanation to play with."""

import streamlit as st

from areaviz.lessons.questions import QUESTIONS, index_data, question_data
from areaviz.ui.shell.component import component
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

params = st.query_params
asked = params.get("q", "")
is_asking = asked in {str(number) for number in QUESTIONS}
page_frame(
    Page(
        "how_areas_work",
        "Area attention, and other ways to look, in thirteen questions. Guess in the picture, then"
        " see what the model does.",
        State(),
    ),
    is_brief=is_asking,
)
with show_errors("computing the answer"):
    if is_asking:
        data = question_data(int(asked), params.get("shown") == "1", params.get("deep") == "1")
        component("lesson")(key=f"question-{asked}", data=data)
    else:
        component("lesson_index")(key="questions", data=index_data())

"""How areas work: thirteen questions, one per screen, each with an interactive explanation."""

import streamlit as st

from areaviz.app.components import get_component
from areaviz.app.frame import draw_page_frame
from areaviz.app.page import Page, State
from areaviz.app.texts import get_language, show_errors
from areaviz.learn.questions import QUESTIONS, make_path_data
from areaviz.texts.catalogue import message

draw_page_frame(
    Page(
        "how_areas_work",
        message(
            "Area attention, and other ways to look, in thirteen questions. Guess in the picture,"
            " then see what the model does."
        ),
        State(),
    ),
    is_brief=True,
)
asked = st.query_params.get("q", "")
numbers = {str(number): number for number in QUESTIONS}
with show_errors(message("computing the answer")):
    get_component("lesson")(key="lesson", data=make_path_data(numbers.get(asked), get_language()))

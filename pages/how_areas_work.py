"""How areas work: thirteen questions, one per screen, each with an interactive explanation."""

import streamlit as st

from areaviz.lessons.questions import QUESTIONS, make_path_data
from areaviz.texts.catalogue import message
from areaviz.ui.app.component import get_component
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.frame import draw_page_frame
from areaviz.ui.app.language import get_language
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State

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

"""How areas work: thirteen questions, one a screen, each with an explanation to play with."""

import streamlit as st

from areaviz.lessons.questions import QUESTIONS, index_data, question_data
from areaviz.texts.catalogue import message
from areaviz.ui.shell.component import component
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.language import language, with_language
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

params = st.query_params
asked = params.get("q", "")
is_asking = asked in {str(number) for number in QUESTIONS}
page_frame(
    Page(
        "how_areas_work",
        message(
            "Area attention, and other ways to look, in thirteen questions. Guess in the picture,"
            " then see what the model does."
        ),
        State(),
    ),
    is_brief=is_asking,
)
with show_errors(message("computing the answer")):
    if is_asking:
        is_shown, is_deep = params.get("shown") == "1", params.get("deep") == "1"
        data = question_data(int(asked), is_shown, is_deep, language())
        data["links"] = {name: to and with_language(to) for name, to in data["links"].items()}
        component("lesson")(key=f"question-{asked}", data=data)
    else:
        data = index_data(language())
        for one in data["questions"]:
            one["href"] = with_language(one["href"])
        data["old"] = {name: with_language(to) for name, to in data["old"].items()}
        component("lesson_index")(key="questions", data=data)

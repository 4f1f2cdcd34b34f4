"""How areas work: live lessons, from the items of a memory to the misprints of the papers."""

import streamlit as st

from areaviz.lessons import cards, contents, numbers_of
from areaviz.lessons.questions import QUESTIONS, question_data
from areaviz.ui.shell.component import component
from areaviz.ui.shell.frame import page_frame, page_link
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

asked = st.query_params.get("q", "")
is_asking = asked in {str(number) for number in QUESTIONS}
page_frame(
    Page(
        "how_areas_work",
        "Area attention, and two other ways to look, in short lessons. Every picture is live: move"
        " the sliders, click the cells.",
        State(),
    ),
    is_brief=is_asking,
)
if is_asking:
    is_shown = st.query_params.get("shown") == "1"
    component("lesson")(key=f"question-{asked}", data=question_data(int(asked), is_shown))
    st.stop()

page_link("pages/how_areas_work.py", "Guess first: short questions, one a screen", {"q": "1"})

hard, window = numbers_of("other")
st.markdown(
    "Attention is how a model looks at its input: for each thing it produces, it gives every item"
    " of the input a weight. Area attention (Li, Kaiser, Bengio and Si,"
    " [2019](https://proceedings.mlr.press/v97/li19e.html)) lets it look at groups of neighbouring"
    " items as one: spans of a sentence, rectangles of an image. The lessons build it up from the"
    f" areas themselves to what they cost. Lessons {hard} and {window} show how a model learns to"
    " pick one item, and to move a window over a picture."
)
contents()

cards()

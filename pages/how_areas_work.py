"""How areas work: live lessons, from the items of a memory to the misprints of the papers."""

import streamlit as st

from areaviz.lessons import cards, contents
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(
    Page(
        "how_areas_work",
        "Area attention, and two other ways to look, in short lessons. Every picture is live: move"
        " the sliders, click the cells.",
        State(),
    )
)

st.markdown(
    "Attention is how a model looks at its input: for each thing it produces, it gives every item"
    " of the input a weight. Area attention (Li, Kaiser, Bengio and Si,"
    " [2019](https://proceedings.mlr.press/v97/li19e.html)) lets it look at groups of neighbouring"
    " items as one: spans of a sentence, rectangles of an image. The lessons build it up from the"
    " areas themselves to what they cost; lessons 10 and 11 show how a model learns to pick one"
    " item, and to move a window over a picture."
)
contents()

cards()

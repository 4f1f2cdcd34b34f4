"""What this is, the map of attention mechanisms, and examples to begin with."""

import streamlit as st

from areaviz.ui.home.sections import gallery, picture, taxonomy
from areaviz.ui.shell.frame import page_frame, page_link
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(
    Page(
        "home",
        "Point at a word and see which parts of the input the model looked at to write it.",
        State(),
        heading="See what attention attends to",
    )
)
picture()
st.write(
    "Before it writes a German word, this translator looks back at the English sentence. It does so"
    " several times at once: each of these looks is called a head. With area attention a head may"
    " look at a span of neighbouring words as a whole, not only at single ones. Point at a word to"
    " see the spans that it attended to."
)
page_link("pages/translate.py", "Translate a sentence of your own")
st.header("Ready examples", anchor=False)
gallery()
st.header("Four kinds of attention", anchor=False)
st.caption(
    "By what is looked at, single items or a place in the whole, and how: a little at everything"
    " (soft), or at one choice (hard)."
)
taxonomy()
page_link("pages/how_areas_work.py", "How areas work, step by step")

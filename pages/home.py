"""What this is, the map of attention mechanisms, and examples to begin with."""

import streamlit as st

from areaviz.ui.home.sections import gallery, picture, taxonomy
from areaviz.ui.shell.frame import page_frame, page_link
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(
    Page(
        "home",
        "areaviz shows which areas, with what weight, for every head of a trained model.",
        State(),
        heading="See what attention attends to",
    )
)
picture()
st.write(
    "A translator that writes German one letter at a time looks back at the English sentence before"
    " every letter. With area attention it may look at spans of neighbouring letters as a whole,"
    " not only at single ones. Point at a letter to see the spans it attended to, in the colour of"
    " each attention head."
)
page_link("pages/translate.py", "Translate a sentence of your own")
st.header("Ready examples", anchor=False)
gallery()
st.header("Four kinds of attention", anchor=False)
st.caption("Surveys sort attention by what is attended to and by how the choice is made.")
taxonomy()
page_link("pages/how_areas_work.py", "How areas work, step by step")

"""Home: a highlighted example, and links to the pages."""

import streamlit as st

from areaviz.app.frame import add_styles, draw_page_frame
from areaviz.app.home import HOME_STYLE, draw_hero, draw_link_cards, draw_tiles
from areaviz.app.page import Page, State
from areaviz.app.texts import sentence
from areaviz.texts.catalogue import message

draw_page_frame(Page("home", "", State(), heading=message("See what a model attends to")))
add_styles(HOME_STYLE)
draw_hero()
st.header(sentence("Six ways in"), anchor=False)
draw_tiles()
draw_link_cards()

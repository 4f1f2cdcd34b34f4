"""Home: a highlighted example, and links to the pages."""

import streamlit as st

from areaviz.texts.catalogue import message
from areaviz.ui.app.frame import add_styles, draw_page_frame
from areaviz.ui.app.language import sentence
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State
from areaviz.ui.home.hero import draw_hero
from areaviz.ui.home.link_cards import draw_link_cards
from areaviz.ui.home.style import HOME_STYLE
from areaviz.ui.home.tiles import draw_tiles

draw_page_frame(Page("home", "", State(), heading=message("See what a model attends to")))
add_styles(HOME_STYLE)
draw_hero()
st.header(sentence("Six ways in"), anchor=False)
draw_tiles()
draw_link_cards()

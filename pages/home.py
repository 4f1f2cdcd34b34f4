"""Home: one lit example, six ways in and three doors."""

import streamlit as st

from areaviz.texts.catalogue import message
from areaviz.ui.app.frame import page_frame, stylesheet
from areaviz.ui.app.language import sentence
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import State
from areaviz.ui.home.hero import hero
from areaviz.ui.home.link_cards import doors
from areaviz.ui.home.style import HOME_STYLE
from areaviz.ui.home.tiles import ways_in

page_frame(Page("home", "", State(), heading=message("See what a model attends to")))
stylesheet(HOME_STYLE)
hero()
st.header(sentence("Six ways in"), anchor=False)
ways_in()
doors()

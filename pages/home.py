"""Home: one lit example, six ways in and three doors."""

import streamlit as st

from areaviz.texts.catalogue import message
from areaviz.ui.home.doors import doors
from areaviz.ui.home.hero import hero
from areaviz.ui.home.style import HOME_STYLE
from areaviz.ui.home.ways_in import ways_in
from areaviz.ui.shell.frame import page_frame, stylesheet
from areaviz.ui.shell.language import sentence
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import State

page_frame(Page("home", "", State(), heading=message("See what a model attends to")))
stylesheet(HOME_STYLE)
hero()
st.header(sentence("Six ways in"), anchor=False)
ways_in()
doors()

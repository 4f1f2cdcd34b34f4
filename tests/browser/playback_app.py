"""The playback of a made-up caption, drawn as the app draws views."""

import streamlit as st

from areaviz.app.chart import draw_view_chart
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes

st.set_page_config(layout="wide")
draw_view_chart(
    VIEWS["playback"],
    fakes.caption_trace("a small red circle"),
    Focus("encoder-decoder"),
    "playback",
)

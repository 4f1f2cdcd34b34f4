"""Draw a fake trace of a clip with known actions as the app draws it."""

from dataclasses import replace

import streamlit as st

from areaviz.app.components import draw_film_strip
from areaviz.trace.request import Focus
from areaviz.views.strip.strip import GOLD_FRAMES
from tests.interactive.test_film_strip import trace

st.set_page_config(layout="wide")
made = replace(trace(), details={GOLD_FRAMES: "2 3 5 6"})
selection = draw_film_strip(made, Focus("encoder-decoder"), key="strip")
st.text(f"locked: {list(selection.items)}")

"""A made-up trace of a sound, drawn as the app draws it."""

from dataclasses import replace

import streamlit as st

from areaviz.app.components import draw_sound_player
from areaviz.trace.request import Focus
from areaviz.views.sound.sound import GOLD_TIMES
from tests import fakes

st.set_page_config(layout="wide")
trace = fakes.sound_trace("314", seconds=2.0)
spoken = "0.1 0.5 0.6 1.1 1.2 1.8"
if "missed" in st.query_params:
    spoken += " 1.85 1.95"
trace = replace(trace, details={GOLD_TIMES: spoken})
selection = draw_sound_player(trace, Focus("encoder-decoder"), key="sound")
st.text(f"locked: {list(selection.items)}")

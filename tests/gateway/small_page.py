"""A page that costs little: some lines, and a different picture for each session."""

import numpy as np
import streamlit as st

from areaviz.app.run import keep_session_while_open

PICTURE_BYTES = 3 * 8 * 8

keep_session_while_open()
if "picture" not in st.session_state:
    noise = np.random.default_rng().integers(0, 256, PICTURE_BYTES, dtype=np.uint8)
    st.session_state["picture"] = noise.reshape(8, 8, 3)
st.image(st.session_state["picture"])
for number in range(6):
    st.text(f"Line {number}")
